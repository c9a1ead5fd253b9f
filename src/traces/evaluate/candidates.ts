import type { Condition, Filter, FilterColumn, PairTest } from "../filter/tree.ts";
import { onlyTerm, type TermRange, termOf, termsOfKey, threadTerm, traceTerm } from "../terms.ts";

/** Properties that every match of a filter has. Sources skip runs without them; readers test the rest. */
export type Candidates = {
  /** A match has a term in one of the ranges of each list. */
  terms: TermRange[][];
  /** A match has feedback with each key. */
  feedback_keys: string[];
  /** A match has one of the ids. `null`: any id. */
  ids: string[] | null;
  /** Both limits are inclusive. */
  min_start_us: number | null;
  max_start_us: number | null;
};

/** Maximum number of ranges in a list: sources look for each. */
const MAX_TERMS = 200;

export function findCandidates(filter: Filter | null): Candidates {
  const all = filter === null ? [] : conjuncts(filter);
  const columns = all.filter((one) => one.kind === "column");
  const [ids = null] = columns.flatMap(({ name, condition }) =>
    name === "id" ? [wantedTexts(condition)] : [],
  );
  const starts = columns.flatMap((one) => (one.name === "start_us" ? [one.condition] : []));
  return {
    terms: filter === null ? [] : toTerms(filter),
    feedback_keys: all.flatMap(feedbackKeys),
    ids,
    min_start_us: boundOf(starts, ["eq", "gt", "gte"], Math.max),
    max_start_us: boundOf(starts, ["eq", "lt", "lte"], Math.min),
  };
}

function conjuncts(filter: Filter): Filter[] {
  return filter.kind === "and" ? filter.filters.flatMap(conjuncts) : [filter];
}

function feedbackKeys(filter: Filter): string[] {
  if (filter.kind !== "pair" || filter.of !== "feedback" || filter.part !== "key") return [];
  const { condition } = filter;
  return condition.op === "eq" ? [String(condition.operand)] : [];
}

function boundOf(
  conditions: Condition[],
  ops: Condition["op"][],
  choose: (...values: number[]) => number,
): number | null {
  const bounds = conditions.flatMap((one) =>
    "operand" in one && ops.includes(one.op) ? [Number(one.operand)] : [],
  );
  return bounds.length === 0 ? null : choose(...bounds);
}

function toTerms(filter: Filter): TermRange[][] {
  switch (filter.kind) {
    case "and":
      return ofAnd(filter.filters);
    case "or":
      return ofOr(filter.filters);
    case "column":
      return ofColumn(filter.name, filter.condition);
    case "tag":
      return listOf(wantedTexts(filter.condition), (tag) => termOf("tag", "", tag));
    case "pair":
      return ofPairs([filter]);
    case "contains":
      return ofLeaves(filter);
    default:
      return [];
  }
}

function ofAnd(filters: Filter[]): TermRange[][] {
  const pairs = filters.filter((filter) => filter.kind === "pair");
  const others = filters.filter((filter) => filter.kind !== "pair");
  const groups = Map.groupBy(pairs, ({ of }) => of);
  return [...others.flatMap(toTerms), ...[...groups.values()].flatMap(ofPairs)];
}

/** Unites the shortest list of each alternative. Without a list for one alternative, any run may match. */
function ofOr(filters: Filter[]): TermRange[][] {
  const lists = filters.map((filter) => toTerms(filter).sort((a, b) => a.length - b.length)[0]);
  const terms = lists.flatMap((list) => list ?? []);
  return lists.includes(undefined) || terms.length > MAX_TERMS ? [] : [terms];
}

function ofColumn(name: FilterColumn, condition: Condition): TermRange[][] {
  if (name !== "thread_id" && name !== "trace_id") return [];
  return listOf(wantedTexts(condition), name === "thread_id" ? threadTerm : traceTerm);
}

/** Combines tests of the same kind of pair: the tested value must belong to the tested key. */
function ofPairs(tests: PairTest[]): TermRange[][] {
  const [first] = tests;
  const keys = findTexts(tests, "key");
  if (first === undefined || first.of === "feedback" || keys === null) return [];
  const { of } = first;
  const values = findTexts(tests, "value");
  if (keys.length * (values?.length ?? 1) > MAX_TERMS) return [];
  const ranges = keys.flatMap((key) => {
    if (values === null) return [termsOfKey(of, key)];
    return values.map((value) => onlyTerm(termOf(of, key, value)));
  });
  return [ranges];
}

function ofLeaves({ of, leaves }: Extract<Filter, { kind: "contains" }>): TermRange[][] {
  if (of === "feedback") return [];
  return leaves.slice(0, MAX_TERMS).map(({ key, value }) => [onlyTerm(termOf(of, key, value))]);
}

function listOf(texts: string[] | null, toTerm: (text: string) => number): TermRange[][] {
  if (texts === null || texts.length > MAX_TERMS) return [];
  return [texts.map((text) => onlyTerm(toTerm(text)))];
}

function findTexts(tests: PairTest[], part: PairTest["part"]): string[] | null {
  for (const test of tests) {
    const texts = test.part === part ? wantedTexts(test.condition) : null;
    if (texts !== null) return texts;
  }
  return null;
}

/** @returns the texts of which a match has one, `null` for other conditions. A number has the term of its text */
function wantedTexts(condition: Condition): string[] | null {
  if (condition.op === "in") return condition.operands.map(String);
  return condition.op === "eq" ? [String(condition.operand)] : null;
}
