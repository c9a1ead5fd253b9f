import fc from "fast-check";
import { expect, test } from "vitest";
import { TraceUsage, type UsageRun } from "../../src/traces/rollup/trace-usage.ts";

const SEED = 20_261_123;
const TRACES = 500;

const tokens = fc.option(fc.nat(9), { nil: null, freq: 2 });
const cost = fc.option(fc.constantFrom("0.1", "0.10", "2", "0.003"), { nil: null, freq: 2 });
const usage = fc.record({
  ...{ total_tokens: tokens, prompt_tokens: tokens, completion_tokens: tokens },
  ...{ total_cost: cost, prompt_cost: cost, completion_cost: cost },
});
const sent = fc.record({
  usage,
  run_type: fc.constantFrom("llm", "chain"),
  parent: fc.nat(1000),
  isPlaced: fc.integer({ min: 0, max: 6 }).map((n) => n > 0),
});

const trace = fc.array(sent, { minLength: 1, maxLength: 40 }).map((runs) => {
  const placed: UsageRun[] = [];
  for (const [n, { usage: own, run_type, parent, isPlaced }] of runs.entries()) {
    const above = placed[parent % Math.max(1, placed.length)]?.dotted_order ?? null;
    const dotted_order = above === null ? `r${n}` : `${above}.r${n}`;
    placed.push({ ...own, run_type, dotted_order: isPlaced ? dotted_order : null });
  }
  return placed;
});

const isBelow = (run: UsageRun, above: UsageRun) =>
  above.dotted_order !== null && run.dotted_order?.startsWith(`${above.dotted_order}.`) === true;
const hasUsage = (run: UsageRun) => run.total_tokens !== null || run.total_cost !== null;

/** Counts a run unless a model call below it has the usage. */
function isCounted(run: UsageRun, runs: UsageRun[]): boolean {
  const calls = runs.filter((one) => one.run_type === "llm" && hasUsage(one));
  return hasUsage(run) && (run.run_type === "llm" || !calls.some((one) => isBelow(one, run)));
}

function sum(values: (string | number | null)[]): number | null {
  const given = values.filter((value) => value !== null);
  return given.length === 0 ? null : given.reduce<number>((all, one) => all + Number(one), 0);
}

const TOKENS = ["total_tokens", "prompt_tokens", "completion_tokens"] as const;
const COSTS = ["total_cost", "prompt_cost", "completion_cost"] as const;

function expectedOf(run: UsageRun, runs: UsageRun[]) {
  const below = runs.filter((one) => isBelow(one, run) && isCounted(one, runs));
  return [TOKENS, COSTS].flatMap((names) => {
    const isOwn = names.some((name) => run[name] !== null);
    return names.map((name) => (isOwn ? run[name] : sum(below.map((one) => one[name]))));
  });
}

const toNumbers = (values: (string | number | null)[]) =>
  values.map((value) => (value === null ? null : expect.closeTo(Number(value), 9)));

test("usage of each run of a trace is its own, else that of the model calls below it", () => {
  const property = fc.property(trace, (runs) => {
    const found = new TraceUsage(runs);
    for (const run of runs) {
      const own = found.of(run);
      const values = [...TOKENS, ...COSTS].map((name) => own[name]);
      const numbers = values.map((value) => (value === null ? null : Number(value)));
      expect(numbers).toEqual(toNumbers(expectedOf(run, runs)));
    }
    const counted = runs.filter((run) => isCounted(run, runs));
    expect([...found.counted()].sort(byPlace)).toEqual(counted.sort(byPlace));
  });
  fc.assert(property, { seed: SEED, numRuns: TRACES });
});

function byPlace(a: UsageRun, b: UsageRun): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}
