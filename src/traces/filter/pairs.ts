import { exists, type Fragment, fragment, join, negate, predicate } from "./predicate.ts";
import type { Condition, Filter, Leaf, PairKind, PairTest } from "./tree.ts";

const VIEWS = { m: "metadata_pairs", i: "input_pairs", o: "output_pairs" } as const;

type Alternatives = { kind: "alternatives"; of: PairKind; isKey: boolean; tests: PairTest[] };
export type PairMember = PairTest | Alternatives;

/** Returns the filter as a member of an `and` over pairs, `null` when it cannot be one. */
export function toPairMember(filter: Filter): PairMember | null {
  if (filter.kind === "pair") return filter;
  if (filter.kind !== "or") return null;
  const tests = filter.filters.filter((inner) => inner.kind === "pair");
  const [first] = tests;
  if (first === undefined || tests.length < filter.filters.length) return null;
  const isKey = first.part === "key";
  const isAlike = tests.every(({ of, part }) => of === first.of && (part === "key") === isKey);
  if (!isAlike || (isKey && tests.some(isNegative))) return null;
  return { kind: "alternatives", of: first.of, isKey, tests };
}

/**
 * Compiles the arguments of one `and` about the same kind of pair. With a key, all arguments test
 * one pair. Without a key, `neq` must hold for every pair.
 */
export function compilePairs(of: PairKind, members: PairMember[]): Fragment {
  const hasKey = members.some((member) => isKey(member) && !isNegative(member));
  const isBound = (member: PairMember) =>
    hasKey ? !(isKey(member) && isNegative(member)) : member.kind === "pair" && !isNegative(member);
  const bound = members.filter(isBound);
  const apart = members.filter((member) => !isBound(member)).map(compileAlone);
  if (bound.length === 0) return join("AND", apart);
  return join("AND", [existsPair(of, join("AND", bound.map(compileMember))), ...apart]);
}

export function compileLeaf(of: PairKind, { key, value, number }: Leaf): Fragment {
  const test =
    number === null
      ? fragment("p.key = ? AND p.value = ? AND p.number IS NULL", key, value)
      : fragment("p.key = ? AND p.number = ?", key, number);
  return existsPair(of, test);
}

/** Matches the key itself or keys below it; `/` is the character after `.`. */
export function compileKey(of: PairKind, key: string): Fragment {
  const test = "(p.key = ? OR (p.key > ? AND p.key < ?))";
  return existsPair(of, fragment(test, key, `${key}.`, `${key}/`));
}

function existsPair(of: PairKind, test: Fragment): Fragment {
  if (of === "feedback") return exists("feedback p", "p.run_id = r.id", test);
  return exists(`${VIEWS[of]} p`, "p.row = r.row", test);
}

function compileAlone(member: PairMember): Fragment {
  if (member.kind === "alternatives") {
    return join(
      "OR",
      member.tests.map((test) => compilePairs(member.of, [test])),
    );
  }
  const { condition, of } = member;
  if (condition.op !== "neq") return existsPair(of, compileMember(member));
  const opposite: Condition = { op: "eq", operand: condition.operand };
  return negate(existsPair(of, compileMember({ ...member, condition: opposite })));
}

function compileMember(member: PairMember): Fragment {
  if (member.kind === "pair") return compileTest(member);
  return join("OR", member.tests.map(compileTest));
}

function compileTest({ of, part, condition }: PairTest): Fragment {
  if (of === "feedback" || part !== "value") return predicate(`p.${part}`, condition);
  if (condition.op !== "in") return predicate(valueColumn(condition), condition);
  const numbers = condition.operands.filter((operand) => typeof operand === "number");
  const texts = condition.operands.filter((operand) => typeof operand === "string");
  const tests: Fragment[] = [];
  if (numbers.length > 0) tests.push(predicate("p.number", { op: "in", operands: numbers }));
  if (texts.length > 0) tests.push(predicate("p.value", { op: "in", operands: texts }));
  return join("OR", tests);
}

function valueColumn(condition: Condition): string {
  return "operand" in condition && typeof condition.operand === "number" ? "p.number" : "p.value";
}

function isKey(member: PairMember): boolean {
  return member.kind === "pair" ? member.part === "key" : member.isKey;
}

function isNegative(member: PairMember): boolean {
  return member.kind === "pair" && member.condition.op === "neq";
}
