import type { Filter, FilterColumn, PairKind } from "../filter/tree.ts";
import type { RunTest, RunView } from "../rows/run-view.ts";
import { COSTS, isUsage } from "../totals.ts";
import type { Usage } from "../usage.ts";
import { compare, ORDERS, type Scalar, toScalarTest } from "./condition-test.ts";
import { type FeedbackOf, type PairMember, PairTests, toPairMember } from "./pair-tests.ts";

/** Project that a filter runs in, and data that a run does not have itself. */
export type FilterScope = {
  session_id: string;
  /** Usage of a run: its own, else that of the runs below it. */
  usageOf: (run: RunView) => Usage;
  feedbackOf: FeedbackOf;
};

/** Returns a test of a run. Unlike SQL it has no third result for `null`, so `not` is the exact complement. */
export function toRunTest(filter: Filter, scope: FilterScope): RunTest {
  return new Evaluator(scope).test(filter);
}

class Evaluator {
  readonly #scope: FilterScope;
  readonly #pairs: PairTests;

  constructor(scope: FilterScope) {
    this.#scope = scope;
    this.#pairs = new PairTests(scope.feedbackOf);
  }

  test(filter: Filter): RunTest {
    switch (filter.kind) {
      case "and":
        return this.#and(filter.filters);
      case "or":
        return some(filter.filters.map((inner) => this.test(inner)));
      case "not": {
        const inner = this.test(filter.filter);
        return (run) => !inner(run);
      }
      case "column": {
        const [read, test] = [this.#reader(filter.name), toScalarTest(filter.condition)];
        return (run) => test(read(run));
      }
      case "tag": {
        const test = toScalarTest(filter.condition);
        return (run) => run.tag_list.some(test);
      }
      case "pair":
        return every(this.#pairs.toConjunction(filter.of, [filter]));
      case "contains":
        return every(filter.leaves.map((leaf) => this.#pairs.toLeafTest(filter.of, leaf)));
      case "key":
        return this.#pairs.toKeyTest(filter.of, filter.key);
      case "project": {
        const holds = filter.ids.includes(this.#scope.session_id.toLowerCase()) === filter.is;
        return () => holds;
      }
      case "cursor":
        return toCursorTest(filter);
      case "words":
        return toWordsTest(filter.words);
    }
  }

  #and(filters: Filter[]): RunTest {
    const groups = new Map<PairKind, PairMember[]>();
    const tests: RunTest[] = [];
    for (const filter of filters) {
      const member = toPairMember(filter);
      if (member === null) tests.push(this.test(filter));
      else groups.set(member.of, [...(groups.get(member.of) ?? []), member]);
    }
    for (const [of, members] of groups) tests.push(...this.#pairs.toConjunction(of, members));
    return every(tests);
  }

  #reader(name: FilterColumn): (run: RunView) => Scalar {
    if (name === "latency")
      return (run) => (run.end_us === null ? null : run.end_us - run.start_us);
    if (!isUsage(name)) return (run) => run[name];
    const { usageOf } = this.#scope;
    if (!COSTS.some((cost) => cost === name)) return (run) => usageOf(run)[name];
    return (run) => toNumber(usageOf(run)[name]);
  }
}

function toNumber(value: Scalar): number | null {
  return value === null ? null : Number(value);
}

/** Compares the start, and then the id if the cursor has one. */
function toCursorTest({ op, start_us, id }: Extract<Filter, { kind: "cursor" }>): RunTest {
  if (id === null) {
    const test = toScalarTest({ op, operand: start_us });
    return (run) => test(run.start_us);
  }
  const orderOf = (run: RunView) => compare(run.start_us, start_us) || compare(run.id, id);
  if (op === "eq") return (run) => orderOf(run) === 0;
  if (op === "neq") return (run) => orderOf(run) !== 0;
  const holds = ORDERS[op];
  return (run) => holds(orderOf(run));
}

/** Characters that a text and its JSON have alike: printable ASCII without the space, `"`, `/` and `\`. */
const PLAIN = /^[!#-.0-[\]-~]+$/;
/** Words that may be a number: JSON can have another notation than its text, such as 1e999 where that is Infinity. */
const OF_NUMBER = /^[0-9.e+-]+$/;

function toWordsTest(words: string[]): RunTest {
  const plain = words.filter(
    (word) => PLAIN.test(word) && !OF_NUMBER.test(word) && !"-infinity".includes(word),
  );
  return (run) => {
    if (plain.length > 0 && !run.mayHaveWords(plain)) return false;
    const { search_text } = run;
    return words.every((word) => search_text.includes(word));
  };
}

function every(tests: RunTest[]): RunTest {
  return (run) => tests.every((test) => test(run));
}

function some(tests: RunTest[]): RunTest {
  return (run) => tests.some((test) => test(run));
}
