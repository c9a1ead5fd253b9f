import fc from "fast-check";
import { expect, test } from "vitest";
import { finderOf } from "./filter-finding.ts";
import { type Expression, holds, print, type Test, type Value } from "./filter-model.ts";
import { type TestRun, testRun } from "./filter-runs.ts";

const SEED = 20_261_121;
const RUNS = 120;
const EXPRESSIONS = 1500;

const NAMES = ["alpha", "Alpha", "beta", "alphabet", `${"long and wide ".repeat(5)}end`];
const KEYS = ["k", "j", "k.l", "kk"];
const TEXTS = ["x", "y", "xy", "X", "1", "true"];
const NUMBERS = [0, 0.5, 1, 2, 5];
const TIMES = [
  "2024-06-01T10:00:00Z",
  "2024-06-01T10:00:00.000001Z",
  "2024-06-01T10:00:01Z",
  "2024-06-02T00:00:00Z",
];
const START = 1_717_236_000_000_000;

const pick = <T>(values: readonly T[]) => fc.constantFrom(...values);
const scalar: fc.Arbitrary<Value> = fc.oneof(pick(TEXTS), pick(NUMBERS), fc.boolean());
const content = fc.dictionary(
  pick(["k", "j", "kk"]),
  fc.oneof(
    scalar,
    fc.array(scalar, { maxLength: 2 }),
    fc.dictionary(fc.constant("l"), scalar, { maxKeys: 1 }),
  ),
  { maxKeys: 3 },
);

const runs = fc
  .record({
    name: pick(NAMES),
    run_type: pick(["llm", "chain"]),
    start: pick([START, START + 1, START + 1_000_000, START + 50_400_000_000]),
    lasts: fc.option(pick([0, 500_000, 1_000_000, 5_000_000]), { nil: null }),
    error: fc.option(pick(["boom", "Bad x"]), { nil: null }),
    is_root: fc.boolean(),
    thread_id: fc.option(pick(TEXTS), { nil: null }),
    total_tokens: fc.option(pick([0, 1, 2, 5]), { nil: null }),
    total_cost: fc.option(pick(["0", "0.5", "0.50", "1", "2"]), { nil: null }),
    tags: fc.uniqueArray(pick(TEXTS), { maxLength: 2 }),
    metadata: content,
    inputs: content,
    outputs: content,
    feedback: fc.array(
      fc.record({
        key: pick(["k", "j"]),
        score: fc.option(pick(NUMBERS), { nil: null }),
        value: pick(TEXTS),
        source: pick(["api", "app"]),
      }),
      { maxLength: 3 },
    ),
  })
  .map(({ lasts, ...fields }) => ({
    ...fields,
    end: lasts === null ? null : fields.start + lasts,
  }));

const EQUAL = ["eq", "neq"];
const ORDER = [...EQUAL, "gt", "gte", "lt", "lte"];

function tests(fields: string[], functions: string[], values: fc.Arbitrary<Value>) {
  return fc.record({ fn: pick(functions), field: pick(fields), value: values });
}

function lists(fields: string[], values: fc.Arbitrary<Value>) {
  const value = fc.array(values, { minLength: 1, maxLength: 3 });
  return fc.record({ fn: fc.constant("in"), field: pick(fields), value });
}

const PATTERNS = ["x%", "%y", "_", "%a%b%", "alpha", "long%", `${"long and wide ".repeat(4)}%end`];
const TEXT_FIELDS = ["name", "run_type", "thread_id", "tags"];
const PAIR_KEYS = ["metadata_key", "input_key", "output_key"];
const PAIR_VALUES = ["metadata_value", "input_value", "output_value"];

const columnTest: fc.Arbitrary<Test> = fc.oneof(
  tests(["name"], EQUAL, pick(NAMES)),
  tests(["run_type"], EQUAL, pick(["llm", "chain"])),
  tests(["status"], EQUAL, pick(["success", "error", "pending"])),
  tests(["thread_id"], EQUAL, pick([...TEXTS, null])),
  tests(["error"], EQUAL, pick([null, true, false, "boom"])),
  tests(["is_root"], EQUAL, fc.boolean()),
  tests(["start_time", "end_time"], ORDER, pick(TIMES)),
  tests(["latency"], ORDER, pick<Value>([0, 0.5, 1, 5, "500ms", "5000ms"])),
  tests(["total_tokens", "total_cost"], ORDER, pick(NUMBERS)),
  tests(["end_time", "latency", "total_tokens", "total_cost"], EQUAL, fc.constant(null)),
  tests(["tags"], ["has"], pick(TEXTS)),
  tests([...TEXT_FIELDS, "error"], ["like"], pick(PATTERNS)),
  tests([...TEXT_FIELDS, "error"], ["search"], pick(["alpha", "X", "o"])),
  lists(["name"], pick(NAMES)),
  lists(["thread_id", "tags"], pick(TEXTS)),
  lists(["total_tokens", "total_cost"], pick(NUMBERS)),
  tests(["metadata"], ["exists"], pick(KEYS)),
  tests(
    ["metadata"],
    ["has"],
    content.map((object) => JSON.stringify(object)).filter((text) => !/[{[][}\]]/.test(text)),
  ),
);

const pairTest: fc.Arbitrary<Test> = fc.oneof(
  tests(PAIR_KEYS, [...EQUAL, "exists"], pick(KEYS)),
  lists(PAIR_KEYS, pick(KEYS)),
  tests(PAIR_KEYS, ["like"], pick(["k%", "%l"])),
  tests(PAIR_VALUES, ORDER, scalar),
  lists(PAIR_VALUES, fc.oneof(pick(TEXTS), pick(NUMBERS))),
  tests(PAIR_VALUES, ["like", "search"], pick(["x", "y"])),
  tests(["feedback_key"], EQUAL, pick(["k", "j"])),
  tests(["feedback_score"], ORDER, pick(NUMBERS)),
  tests(["feedback_score"], EQUAL, fc.constant(null)),
  tests(["feedback_value"], EQUAL, pick(TEXTS)),
  tests(["feedback_source"], EQUAL, pick(["api", "app"])),
);

/** Combines tests of one family in one `and`. */
const bound: fc.Arbitrary<Expression> = pick(["metadata", "input", "feedback"]).chain((family) => {
  const last = family === "feedback" ? "score" : "value";
  const key = tests([`${family}_key`], EQUAL, pick(["k", "j"]));
  const value = tests(
    [`${family}_${last}`],
    family === "feedback" ? ORDER : EQUAL,
    family === "feedback" ? pick(NUMBERS) : scalar,
  );
  const either = fc.oneof(
    fc.array(value, { minLength: 1, maxLength: 2 }),
    fc.array(key, { minLength: 1, maxLength: 2 }),
  );
  const arg: fc.Arbitrary<Expression> = fc.oneof(
    { weight: 3, arbitrary: key },
    { weight: 3, arbitrary: value },
    { weight: 1, arbitrary: either.map((args): Expression => ({ fn: "or", args })) },
  );
  return fc
    .array(arg, { minLength: 1, maxLength: 4 })
    .map((args): Expression => ({ fn: "and", args }));
});

const words = pick(["x", "alpha x", "beta boom"]).map(
  (text): Expression => ({ fn: "search", text }),
);

const { expression } = fc.letrec<{ expression: Expression }>((tie) => {
  const args = fc.array(tie("expression"), { minLength: 1, maxLength: 3 });
  return {
    expression: fc.oneof(
      { depthSize: "small", maxDepth: 4 },
      columnTest,
      pairTest,
      bound,
      words,
      fc.record({ fn: pick(["and", "or"] as const), args }),
      tie("expression").map((arg): Expression => ({ fn: "not", arg })),
    ),
  };
});

test("any filter finds the runs that the filter's model selects", () => {
  const stored: TestRun[] = fc
    .sample(runs, { seed: SEED, numRuns: RUNS })
    .map((fields, index) => testRun(`run-${index}`, fields));
  const find = finderOf(stored);
  const property = fc.property(expression, (wanted) => {
    const ids = stored.filter((run) => holds(wanted, run)).map(({ id }) => id);
    const found = find(print(wanted), "p");
    expect(found, print(wanted)).toEqual({ all: ids, named: ids });
  });
  fc.assert(property, { seed: SEED, numRuns: EXPRESSIONS });
}, 60_000);
