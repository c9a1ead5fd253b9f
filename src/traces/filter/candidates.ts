import type { PairSource as StoredKind } from "../changes.ts";
import { termOf, termsOfKey } from "../terms.ts";
import type { CompiledFilter } from "./compile.ts";
import type { Condition, Filter, PairKind, PairTest } from "./tree.ts";

/**
 * Returns index queries, each selecting the `row` of every run that can match. `r.row IN (...)` is
 * faster than a scan when a query selects few rows; `narrow` counts them up to a limit.
 */
export function findCandidates(filter: Filter): CompiledFilter[] {
  switch (filter.kind) {
    case "and":
      return ofAnd(filter.filters);
    case "tag":
      return ofTag(filter.condition);
    case "pair":
      return ofPairs([filter]);
    case "contains":
      return ofLeaves(filter);
    default:
      return [];
  }
}

function ofAnd(filters: Filter[]): CompiledFilter[] {
  const groups = new Map<PairKind, PairTest[]>();
  const found: CompiledFilter[] = [];
  for (const filter of filters) {
    if (filter.kind !== "pair") found.push(...findCandidates(filter));
    else groups.set(filter.of, [...(groups.get(filter.of) ?? []), filter]);
  }
  for (const tests of groups.values()) found.push(...ofPairs(tests));
  return found;
}

function ofTag(condition: Condition): CompiledFilter[] {
  const tag = wantedText(condition);
  if (tag === undefined) return [];
  return [select(`t.term = ${termOf("tag", "", tag)}`)];
}

/** Combines tests of one pair: the value belongs to the same pair as the key. */
function ofPairs(tests: PairTest[]): CompiledFilter[] {
  const [first] = tests;
  const key = findText(tests, "key");
  if (first === undefined || key === undefined) return [];
  if (first.of === "feedback") return [ofFeedback(key)];
  const value = findText(tests, "value");
  if (value !== undefined) return [ofPair(first.of, key, value)];
  const { first: from, last } = termsOfKey(first.of, key);
  return [select(`t.term BETWEEN ${from} AND ${last}`)];
}

function ofLeaves({ of, leaves }: Extract<Filter, { kind: "contains" }>): CompiledFilter[] {
  if (of === "feedback") return [];
  return leaves.map(({ key, value }) => ofPair(of, key, value));
}

function ofPair(of: StoredKind, key: string, value: string): CompiledFilter {
  return select(`t.term = ${termOf(of, key, value)}`);
}

function ofFeedback(key: string): CompiledFilter {
  const sql = "SELECT q.row FROM feedback p JOIN runs q ON q.id = p.run_id WHERE p.key = ?";
  return { sql, params: [key] };
}

function select(test: string): CompiledFilter {
  const rows = "json_each(coalesce(t.rows, t.row))";
  return { sql: `SELECT l.value AS row FROM run_terms t, ${rows} l WHERE ${test}`, params: [] };
}

function findText(tests: PairTest[], part: PairTest["part"]): string | undefined {
  for (const test of tests) {
    const text = test.part === part ? wantedText(test.condition) : undefined;
    if (text !== undefined) return text;
  }
  return undefined;
}

function wantedText(condition: Condition): string | undefined {
  if (condition.op !== "eq" || typeof condition.operand !== "string") return undefined;
  return condition.operand;
}
