import type { Pair } from "../digest.ts";
import type { Condition, Filter, Leaf, PairKind, PairPart, PairTest } from "../filter/tree.ts";
import type { FeedbackEntry } from "../rows/rows.ts";
import type { RunTest, RunView } from "../rows/run-view.ts";
import { type Scalar, toScalarTest } from "./condition-test.ts";

type Alternatives = { kind: "alternatives"; of: PairKind; testsKey: boolean; tests: PairTest[] };
export type PairMember = PairTest | Alternatives;

/** Key and values that belong together: a pair, or a row of feedback. */
type Entry = Pair | FeedbackEntry;
type EntryTest = (entry: Entry) => boolean;
export type FeedbackOf = (run_id: string) => Iterable<FeedbackEntry>;

/** Returns a test of pairs, or an `or` of some, as a member of an `and`. `null` for filters that cannot be members. */
export function toPairMember(filter: Filter): PairMember | null {
  if (filter.kind === "pair") return filter;
  if (filter.kind !== "or") return null;
  const tests = filter.filters.filter((inner) => inner.kind === "pair");
  const [first] = tests;
  if (first === undefined || tests.length < filter.filters.length) return null;
  const testsKey = first.part === "key";
  const isAlike = tests.every(({ of, part }) => of === first.of && (part === "key") === testsKey);
  if (!isAlike || (testsKey && tests.some(isNegative))) return null;
  return { kind: "alternatives", of: first.of, testsKey, tests };
}

/** Tests pairs of runs, and rows of feedback. */
export class PairTests {
  readonly #feedbackOf: FeedbackOf;

  constructor(feedbackOf: FeedbackOf) {
    this.#feedbackOf = feedbackOf;
  }

  /**
   * Combines the tests of one `and` on the same kind of pair. One pair must pass all joint tests. Each separate test can
   * be passed by another pair, and a separate `neq` holds when no pair has its operand.
   *
   * With a test of a key other than `neq`, all tests are joint except `neq` on a key. Without such a test, single tests
   * are joint, and `or` groups and `neq` are separate.
   */
  toConjunction(pairKind: PairKind, members: PairMember[]): RunTest[] {
    const hasKey = members.some((member) => testsKey(member) && !isNegative(member));
    const isJoint = (member: PairMember) =>
      hasKey
        ? !(testsKey(member) && isNegative(member))
        : member.kind === "pair" && !isNegative(member);
    const joint = members.filter(isJoint).map(toMemberTest);
    const separate = members.filter((member) => !isJoint(member));
    const separateTests = separate.map((member) => this.#toSeparateTest(member));
    if (joint.length === 0) return separateTests;
    return [
      this.#anyEntry(pairKind, (entry) => joint.every((test) => test(entry))),
      ...separateTests,
    ];
  }

  toLeafTest(pairKind: PairKind, { key, value, number }: Leaf): RunTest {
    if (number !== null) {
      return this.#anyEntry(
        pairKind,
        (entry) => keyOf(entry) === key && numberOf(entry) === number,
      );
    }
    return this.#anyEntry(
      pairKind,
      (entry) => keyOf(entry) === key && textOf(entry) === value && numberOf(entry) === null,
    );
  }

  /** Matches a run that has the key, or a key below it. */
  toKeyTest(pairKind: PairKind, key: string): RunTest {
    const below = `${key}.`;
    return this.#anyEntry(pairKind, (entry) => {
      const name = keyOf(entry);
      return name === key || (name.length > below.length && name.startsWith(below));
    });
  }

  #toSeparateTest(member: PairMember): RunTest {
    if (member.kind === "alternatives") {
      const any = member.tests.map((test) => this.toConjunction(member.of, [test]));
      return (run) => any.some((tests) => tests.every((test) => test(run)));
    }
    const { condition, of: pairKind } = member;
    if (condition.op !== "neq") return this.#anyEntry(pairKind, toMemberTest(member));
    const opposite: Condition = { op: "eq", operand: condition.operand };
    const has = this.#anyEntry(pairKind, toEntryTest({ ...member, condition: opposite }));
    return (run) => !has(run);
  }

  #anyEntry(pairKind: PairKind, test: EntryTest): RunTest {
    if (pairKind === "feedback") return (run) => some(this.#feedbackOf(run.id), test);
    return (run: RunView) => run.pairs(pairKind).some(test);
  }
}

function some(entries: Iterable<FeedbackEntry>, test: EntryTest): boolean {
  for (const entry of entries) if (test(entry)) return true;
  return false;
}

function toMemberTest(member: PairMember): EntryTest {
  if (member.kind === "pair") return toEntryTest(member);
  const tests = member.tests.map(toEntryTest);
  return (entry) => tests.some((test) => test(entry));
}

/** Compares values of pairs: a number with numbers, a text with the text of any value. `in` may have both types. */
function toEntryTest({ of, part, condition }: PairTest): EntryTest {
  if (of === "feedback" || part !== "value") {
    const test = toScalarTest(condition);
    const read = READERS[part];
    return (entry) => test(read(entry));
  }
  if (condition.op === "in") {
    const operands = new Set<Scalar>(condition.operands);
    return (entry) => operands.has(textOf(entry)) || isIn(operands, numberOf(entry));
  }
  const test = toScalarTest(condition);
  const isNumber = "operand" in condition && typeof condition.operand === "number";
  return isNumber ? (entry) => test(numberOf(entry)) : (entry) => test(textOf(entry));
}

function isIn(operands: Set<Scalar>, number: number | null): boolean {
  return number !== null && operands.has(number);
}

const READERS: Record<PairPart, (entry: Entry) => Scalar> = {
  key: keyOf,
  value: textOf,
  score: (entry) => ("score" in entry ? entry.score : null),
  source: (entry) => ("source" in entry ? entry.source : null),
};

function keyOf(entry: Entry): string {
  return "key" in entry ? entry.key : entry[0];
}

function textOf(entry: Entry): string | null {
  return "value" in entry ? entry.value : entry[1];
}

function numberOf(entry: Entry): number | null {
  return "key" in entry ? null : entry[2];
}

function testsKey(member: PairMember): boolean {
  return member.kind === "pair" ? member.part === "key" : member.testsKey;
}

function isNegative(member: PairMember): boolean {
  return member.kind === "pair" && member.condition.op === "neq";
}
