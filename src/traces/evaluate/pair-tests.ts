import type { Pair } from "../digest.ts";
import type { Condition, Filter, Leaf, PairKind, PairPart, PairTest } from "../filter/tree.ts";
import type { FeedbackEntry } from "../rows/rows.ts";
import type { RunTest, RunView } from "../rows/run-view.ts";
import { type Scalar, toScalarTest } from "./condition-test.ts";

type Alternatives = { kind: "alternatives"; of: PairKind; isKey: boolean; tests: PairTest[] };
export type PairMember = PairTest | Alternatives;

/** Key and values that belong together: a pair, or a row of feedback. */
type Entry = Pair | FeedbackEntry;
type EntryTest = (entry: Entry) => boolean;
export type FeedbackOf = (run_id: string) => readonly FeedbackEntry[];

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

/** Tests pairs of runs, and rows of feedback. */
export class PairTests {
  readonly #feedbackOf: FeedbackOf;

  constructor(feedbackOf: FeedbackOf) {
    this.#feedbackOf = feedbackOf;
  }

  /**
   * Combines the arguments of one `and` about the same kind of pair. With a key, all arguments test
   * one pair. Without a key, `neq` must hold for every pair.
   */
  all(of: PairKind, members: PairMember[]): RunTest[] {
    const hasKey = members.some((member) => isKey(member) && !isNegative(member));
    const isBound = (member: PairMember) =>
      hasKey
        ? !(isKey(member) && isNegative(member))
        : member.kind === "pair" && !isNegative(member);
    const bound = members.filter(isBound).map(toMemberTest);
    const apart = members.filter((member) => !isBound(member));
    const alone = apart.map((member) => this.#alone(member));
    if (bound.length === 0) return alone;
    return [this.#some(of, (entry) => bound.every((test) => test(entry))), ...alone];
  }

  leaf(of: PairKind, { key, value, number }: Leaf): RunTest {
    if (number !== null) {
      return this.#some(of, (entry) => keyOf(entry) === key && numberOf(entry) === number);
    }
    return this.#some(
      of,
      (entry) => keyOf(entry) === key && textOf(entry) === value && numberOf(entry) === null,
    );
  }

  /** Matches the key itself or keys below it. */
  key(of: PairKind, key: string): RunTest {
    const below = `${key}.`;
    return this.#some(of, (entry) => {
      const name = keyOf(entry);
      return name === key || (name.length > below.length && name.startsWith(below));
    });
  }

  #alone(member: PairMember): RunTest {
    if (member.kind === "alternatives") {
      const any = member.tests.map((test) => this.all(member.of, [test]));
      return (run) => any.some((tests) => tests.every((test) => test(run)));
    }
    const { condition, of } = member;
    if (condition.op !== "neq") return this.#some(of, toMemberTest(member));
    const opposite: Condition = { op: "eq", operand: condition.operand };
    const has = this.#some(of, toEntryTest({ ...member, condition: opposite }));
    return (run) => !has(run);
  }

  #some(of: PairKind, test: EntryTest): RunTest {
    if (of === "feedback") return (run) => this.#feedbackOf(run.id).some(test);
    return (run: RunView) => run.pairs(of).some(test);
  }
}

function toMemberTest(member: PairMember): EntryTest {
  if (member.kind === "pair") return toEntryTest(member);
  const tests = member.tests.map(toEntryTest);
  return (entry) => tests.some((test) => test(entry));
}

/** A number compares with numbers, a text with the text of any value. */
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

function isKey(member: PairMember): boolean {
  return member.kind === "pair" ? member.part === "key" : member.isKey;
}

function isNegative(member: PairMember): boolean {
  return member.kind === "pair" && member.condition.op === "neq";
}
