import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { billOf, perMillionRuns, totalOf } from "../../scripts/simulate/bill.ts";
import { COUNTS } from "../../scripts/simulate/counts.ts";
import { DirectoryOfDeployment } from "../../scripts/simulate/directory.ts";
import { SHOWN, STANDARD, toLoad } from "../../scripts/simulate/load.ts";
import { workOf } from "../../scripts/simulate/model.ts";
import { withTables } from "../../scripts/simulate/page.ts";
import { readProcessor } from "../../scripts/simulate/processor.ts";
import { firstWall, wallsOf } from "../../scripts/simulate/walls.ts";
import { MAX_PARTITION_ROWS } from "../../src/traces/limits.ts";

const processor = { run_ms: 10, span_us: 100, span_in_object_us: 50 };
const work = (load = {}) => workOf({ ...STANDARD, ...load }, COUNTS, processor);
const wall = (load = {}) => firstWall({ ...STANDARD, ...load }, COUNTS, processor);

describe("work", () => {
  test("twice the runs write twice the rows of runs, and the rows of flushes grow less", () => {
    const few = work({ projects: 1 });
    const many = work({ projects: 1, runs_per_s: 20 });
    expect(many.deliveries).toBeCloseTo(2 * few.deliveries);
    expect(many.billed.requests).toBe(2 * few.billed.requests);
    expect(many.billed.object_rows_written).toBeLessThan(2 * few.billed.object_rows_written);
    expect(many.billed.object_rows_written).toBeGreaterThan(1.9 * few.billed.object_rows_written);
  });

  test("calls of a delivery grow with the generations of a day, and not with its objects", () => {
    const sdk = (sdk_spans_per_s: number) => work({ runs_per_s: 0, projects: 1, sdk_spans_per_s });
    const calls = [1e3, 1e4, 1e5].map((spans) => sdk(spans).calls_in_the_evening);
    const traces = 100 / STANDARD.spans;
    for (const [n, more] of calls.slice(1).entries()) {
      expect(Math.floor(more - (calls[n] ?? 0))).toBeLessThanOrEqual(4 * (traces + 1));
    }
    expect(sdk(1).calls_in_the_evening).toBe(1);
  });

  test("objects that always receive spans write their counts once in 16 seconds", () => {
    const { d1_writes, deliveries } = work({ runs_per_s: 0, projects: 1, sdk_spans_per_s: 1e6 });
    expect(d1_writes).toBeLessThan(deliveries);
    const objects = (1e6 * 86_400) / MAX_PARTITION_ROWS;
    expect(d1_writes / (objects / 16)).toBeLessThan(1);
  });

  test("a step adds its rows to each run", () => {
    const added = (steps: number) => work({ steps }).billed.object_rows_written;
    const { thread_rows, trace_rows } = COUNTS.step;
    const step = STANDARD.runs_per_s * (thread_rows + trace_rows);
    expect((added(5) - added(4)) / step).toBeCloseTo(1, 1);
  });

  test("a thread whose next run follows at once is not awake between its runs", () => {
    const awake = (threads: number) =>
      work({ threads, threadless: 0, runs_per_s: 1, days: 1e9 }).billed.object_gb_s;
    const { awake_ms_after } = COUNTS.run_of_three_steps_on_a_thread;
    const between = awake(1e6) - awake(STANDARD.run_seconds);
    expect(between).toBeCloseTo((0.128 * awake_ms_after) / 1000, 6);
  });

  test("nothing happens without load", () => {
    const { billed } = work({ runs_per_s: 0, threads: 0 });
    expect(Object.values(billed).every((amount) => amount === 0)).toBe(true);
    expect(totalOf(billOf({ billed }))).toBe(5);
  });
});

describe("directory", () => {
  test.each([
    [0, 1, 0],
    [500_000, 1, 500_000],
    [500_001, 5, 500_000],
    [2_500_000, 5, 500_000],
    [10_500_000, 21, 500_000],
    [10_500_000 + 64 * 700_000, 85, 700_000],
  ])("%i threads are in %i objects, %i in the fullest", (threads, objects, most) => {
    const directory = new DirectoryOfDeployment(threads);
    expect([directory.objects, directory.most_threads]).toEqual([objects, most]);
  });

  test("calls are those of all objects, and new threads call the last generation", () => {
    const directory = new DirectoryOfDeployment(2_500_000);
    const calls = directory.callsOfObjects(100, 40);
    expect(calls).toEqual([20, 30, 30, 30, 30]);
    expect(new DirectoryOfDeployment(0).callsOfObjects(0, 40)).toEqual([40]);
  });

  test("more objects take more runs until a call of one is the wall", () => {
    const load = { threadless: 0, runs_per_s: 400, projects: 1 };
    const calls = [400_000, 10e6].map((threads) => work({ ...load, threads }).directory_calls);
    const { directory_requests } = COUNTS.run_of_three_steps_on_a_thread;
    expect(calls[0]).toBeCloseTo(400 * directory_requests, 0);
    expect(calls[1]).toBeLessThan((calls[0] ?? 0) / 15);
  });
});

describe("walls", () => {
  test("runs on threads of many projects meet the statements of D1 first", () => {
    const load = { threadless: 0, projects: 1e6, threads: 10_000 };
    const { name, factor } = wall(load);
    expect(name).toBe("D1: statements a second");
    const [first] = wallsOf(
      { ...STANDARD, ...load, runs_per_s: STANDARD.runs_per_s * factor },
      COUNTS,
      processor,
    );
    expect(first?.name).toBe(name);
    expect(first?.utilization).toBeCloseTo(1, 3);
  });

  test("spans of one project meet the CPU of its partition first", () => {
    const { name, factor } = wall({ runs_per_s: 0, projects: 1, sdk_spans_per_s: 1000 });
    expect(name).toBe("one project's partition: CPU seconds a second");
    expect(factor).toBeCloseTo(1e6 / 50 / 1000, 3);
  });

  test("more threads than the directory holds are a wall without any run", () => {
    expect(wall({ threads: 1e9, projects: 1 }).factor).toBeGreaterThan(1);
    expect(wall({ threads: 1.5e9, projects: 1 })).toEqual({
      name: "one object of a directory: bytes",
      factor: 0,
    });
  });
});

describe("bill", () => {
  test("units that the plan includes are free, and a further million rows cost a dollar", () => {
    const { billed } = work({ runs_per_s: 0, threads: 0 });
    const rows = (month: number) => ({ ...billed, object_rows_written: month / (30 * 86_400) });
    expect(totalOf(billOf({ billed: rows(50e6) }))).toBeCloseTo(5, 6);
    expect(totalOf(billOf({ billed: rows(53e6) }))).toBeCloseTo(8, 6);
    expect(perMillionRuns(8, 1e6 / (30 * 86_400))).toBeCloseTo(8, 6);
    expect(perMillionRuns(8, 0)).toBeNull();
  });
});

test("options that are no load are refused by name", () => {
  expect(toLoad({ "runs-per-s": "7" })).toEqual({ ...STANDARD, runs_per_s: 7 });
  expect(() => toLoad({ steps: "many" })).toThrow("--steps: must be a number from 0");
  expect(() => toLoad({ threadless: "2" })).toThrow("--threadless: must be a number from 0 to 1");
  expect(() => toLoad({ projects: "0" })).toThrow("--projects: must be above 0");
});

test("docs/scale.md is what the model computes: npm run simulate -- --docs", async () => {
  const page = await readFile("docs/scale.md", "utf8");
  expect(page).toBe(withTables(page, SHOWN, readProcessor()));
});
