import {
  micros,
  pairsOf,
  searchTextOf,
  type TestFeedback,
  type TestPair,
  type TestRun,
} from "./filter-runs.ts";

/**
 * Model of a filter: its source text and its meaning for a run in memory, without SQL and parser.
 */
export type Value = string | number | boolean | null;
export type Test = { fn: string; field: string; value: Value | Value[] };
export type Expression =
  | { fn: "and" | "or"; args: Expression[] }
  | { fn: "not"; arg: Expression }
  | { fn: "search"; text: string }
  | Test;

export function print(expression: Expression): string {
  if ("args" in expression) return `${expression.fn}(${expression.args.map(print).join(", ")})`;
  if ("arg" in expression) return `not(${print(expression.arg)})`;
  if ("text" in expression) return `search(${JSON.stringify(expression.text)})`;
  return `${expression.fn}(${expression.field}, ${JSON.stringify(expression.value)})`;
}

export function holds(expression: Expression, run: TestRun): boolean {
  if ("args" in expression) {
    if (expression.fn === "or") return expression.args.some((arg) => holds(arg, run));
    return holdTogether(expression.args, run);
  }
  if ("arg" in expression) return !holds(expression.arg, run);
  if ("text" in expression) {
    const text = searchTextOf(run);
    const words = expression.text.toLowerCase().split(" ");
    return words.every((word) => text.includes(word));
  }
  return holdTogether([expression], run);
}

const FAMILIES = ["metadata", "input", "output", "feedback"];

/** Groups the arguments of one `and` by family: tests of one family test one pair. */
function holdTogether(args: Expression[], run: TestRun): boolean {
  const alone = args.filter((arg) => familyOf(arg) === null);
  if (!alone.every((arg) => holdsAlone(arg, run))) return false;
  return FAMILIES.every((family) => {
    const tests = args.filter((arg) => familyOf(arg) === family);
    return tests.length === 0 || holdOfPairs(tests, rowsOf(family, run));
  });
}

function holdsAlone(arg: Expression, run: TestRun): boolean {
  return "field" in arg ? holdsOfRun(arg, run) : holds(arg, run);
}

function familyOf(arg: Expression): string | null {
  if ("field" in arg) return FAMILIES.find((family) => arg.field.startsWith(`${family}_`)) ?? null;
  if (!("args" in arg) || arg.fn !== "or") return null;
  const [first] = arg.args;
  if (first === undefined || !("field" in first)) return null;
  const family = familyOf(first);
  const isAlike = (inner: Expression) =>
    "field" in inner && familyOf(inner) === family && isKey(inner) === isKey(first);
  const deniesKey = isKey(first) && arg.args.some((inner) => isDenial(inner));
  return arg.args.every(isAlike) && !deniesKey ? family : null;
}

function isKey(arg: Expression): boolean {
  if ("field" in arg) return arg.field.endsWith("_key");
  return "args" in arg && arg.args.some(isKey);
}

function isDenial(arg: Expression): boolean {
  return "field" in arg && arg.fn === "neq" && arg.value !== null;
}

type Row = TestPair | TestFeedback;

function holdOfPairs(tests: Expression[], rows: Row[]): boolean {
  const namesKey = tests.some((test) => isKey(test) && !isDenial(test));
  if (namesKey) {
    const denied = tests.filter((test) => isKey(test) && isDenial(test));
    const positive = tests.filter((test) => !denied.includes(test));
    return (
      denied.every((test) => rows.every((row) => holdsOfRow(test, row))) &&
      rows.some((row) => positive.every((test) => holdsOfRow(test, row)))
    );
  }
  const positive = tests.filter((test) => "field" in test && !isDenial(test));
  const denied = tests.filter((test) => isDenial(test));
  const either = tests.filter((test) => "args" in test);
  return (
    (positive.length === 0 ||
      rows.some((row) => positive.every((test) => holdsOfRow(test, row)))) &&
    denied.every((test) => rows.every((row) => holdsOfRow(test, row))) &&
    either.every((arg) => "args" in arg && arg.args.some((test) => holdOfPairs([test], rows)))
  );
}

function holdsOfRow(test: Expression, row: Row): boolean {
  if ("args" in test) return test.args.some((inner) => holdsOfRow(inner, row));
  if (!("field" in test)) throw new Error("not a test of a pair");
  const part = test.field.slice(test.field.indexOf("_") + 1);
  if (part === "value" && "number" in row) return holdsOfPairValue(test, row);
  const value = (row as Record<string, unknown>)[part] ?? null;
  return compare(test.fn, value as Value, test.value);
}

/** Compares numbers with numbers, and texts with the text of any value. */
function holdsOfPairValue(test: Test, { value, number }: TestPair): boolean {
  if (test.fn === "in") {
    return (test.value as Value[]).some((item) => (item === number ? true : item === value));
  }
  if (typeof test.value === "number") return compare(test.fn, number, test.value);
  return compare(test.fn, value, typeof test.value === "string" ? test.value : `${test.value}`);
}

function rowsOf(family: string, run: TestRun): Row[] {
  if (family === "feedback") return run.feedback;
  if (family === "metadata") return pairsOf(run.metadata);
  return pairsOf(family === "input" ? run.inputs : run.outputs);
}

function holdsOfRun({ fn, field, value }: Test, run: TestRun): boolean {
  if (field === "tags") {
    return run.tags.some((tag) => compare(fn === "has" ? "eq" : fn, tag, value));
  }
  if (field === "metadata" && fn === "exists") {
    return pairsOf(run.metadata).some(
      ({ key }) => key === value || key.startsWith(`${String(value)}.`),
    );
  }
  if (field === "metadata") return contains(run.metadata, JSON.parse(String(value)));
  if (field === "error" && typeof value === "boolean") {
    return (run.error !== null) === (value === (fn === "eq"));
  }
  return compare(fn, columnOf(field, run), toComparable(field, value));
}

function columnOf(field: string, run: TestRun): Value {
  const start = micros(run.start);
  const end = run.end === null ? null : micros(run.end);
  switch (field) {
    case "start_time":
      return start;
    case "end_time":
      return end;
    case "latency":
      return end === null ? null : end - start;
    case "total_cost":
      return run.total_cost === null ? null : Number(run.total_cost);
    case "status":
      if (run.error !== null) return "error";
      return end === null ? "pending" : "success";
    default:
      return run[field as "name"];
  }
}

function toComparable(field: string, value: Value | Value[]): Value | Value[] {
  if (Array.isArray(value)) return value.map((item) => toComparable(field, item) as Value);
  if (value === null) return null;
  if (field === "latency" && typeof value === "number") return value * 1_000_000;
  if (field === "latency") return Number(String(value).replace("ms", "")) * 1000;
  return field.endsWith("_time") ? micros(String(value)) : value;
}

function compare(fn: string, actual: Value, wanted: Value | Value[]): boolean {
  if (fn === "eq" || fn === "exists") return actual === wanted;
  if (fn === "neq") return actual !== wanted;
  return actual !== null && wanted !== null && comparePresent(fn, actual, wanted);
}

function comparePresent(
  fn: string,
  actual: string | number | boolean,
  wanted: string | number | boolean | Value[],
): boolean {
  if (fn === "in") return Array.isArray(wanted) && wanted.includes(actual);
  if (fn === "search") return String(actual).toLowerCase().includes(String(wanted).toLowerCase());
  if (fn === "like") return isLike(String(actual), String(wanted));
  const order = actual < wanted ? -1 : Number(actual > wanted);
  return { gt: order > 0, gte: order >= 0, lt: order < 0, lte: order <= 0 }[fn] ?? false;
}

function isLike(text: string, pattern: string): boolean {
  const source = [...pattern].map((sign) => {
    if (sign === "%") return ".*";
    return sign === "_" ? "." : sign;
  });
  return new RegExp(`^${source.join("")}$`, "is").test(text);
}

/** Finds each leaf at the same path; elements of arrays share the array's path. */
function contains(whole: unknown, wanted: unknown): boolean {
  const pairs = pairsOf(whole);
  return pairsOf(wanted).every((leaf) =>
    pairs.some(
      ({ key, value, number }) =>
        key === leaf.key && value === leaf.value && number === leaf.number,
    ),
  );
}
