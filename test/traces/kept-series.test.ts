import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, expect, test } from "vitest";
import { TracePartition } from "../../src/traces/object/object.ts";
import { RunSet } from "../../src/traces/segments/run-set.ts";
import { api } from "../support/workspace.ts";
import { dayAt, daysAgo, type Scene, scene, send } from "./support/expiry.ts";
import { wireRun } from "./support/runs.ts";

const HOUR_MS = 3_600_000;
const RUNS = 30;
const DAY = daysAgo(5);

let one: Scene;
let stub: DurableObjectStub;
const nameOf = ({ project_id }: Scene) => `${project_id}/${dayAt(DAY)}/0`;
beforeAll(async () => {
  one = await scene("longlived");
  const traces = Array.from({ length: RUNS }, (_, n) => {
    const at = DAY + (n % 7) * HOUR_MS + n;
    const usage_metadata = { input_tokens: n, output_tokens: 1, total_cost: "0.1" };
    const fields = { end_time: at + 1000 * (n + 1), ...(n % 5 ? {} : { error: "broke" }) };
    const root = wireRun(one.name, fields, { at });
    const model = { run_type: "llm", outputs: { usage_metadata }, end_time: at + 500 };
    return [root, wireRun(one.name, model, { at: at + 1, parent: root })];
  });
  await send(one, ...traces.flat());
  stub = env.PARTITIONS.getByName(nameOf(one));
  await runInDurableObject(stub, (_, { storage }) => {
    const counts = "UPDATE small_segments_0 SET counts = json_set(counts, '$.seq', ?)";
    storage.sql.exec(counts, (Date.now() - 120_000) * 1000);
  });
  await evictDurableObject(stub);
});

async function series(stride: object, fields: object = {}) {
  const json = {
    ...{ session: [one.project_id], stride, is_root: true },
    ...{ start_time: new Date(DAY - 12 * HOUR_MS).toISOString() },
    ...fields,
  };
  const answer = await api("/runs/stats", { key: one.ours.viewer, json });
  expect(answer.status).toBe(200);
  return answer.json<{
    series: { totals: { run_count: number; queue_length?: number | null }; buckets: object[] }[];
  }>();
}

/** Counts the reads of runs by the partition's object, whose call does not wait within. */
async function countReads(work: () => Promise<unknown>): Promise<number> {
  const { live } = RunSet.prototype;
  const { getSeries } = TracePartition.prototype;
  let reads = 0;
  TracePartition.prototype.getSeries = async function (...args) {
    const { id } = Reflect.get(this, "ctx") as DurableObjectState;
    RunSet.prototype.live = function (selection) {
      if (id.name === nameOf(one)) reads += 1;
      return live.call(this, selection);
    };
    const cells = getSeries.apply(this, args);
    RunSet.prototype.live = live;
    return cells;
  };
  await work().finally(() => {
    TracePartition.prototype.getSeries = getSeries;
  });
  return reads;
}

const hours = (value: number) => ({ unit: "HOUR", value });
const ALL = { is_root: null };

test.each([{}, ALL])("kept sums of hours have the figures of a scan: %j", async (fields) => {
  // A stride below an hour, and a filter that all runs match, read the runs.
  const fine = await series({ unit: "MINUTE", value: 30 }, fields);
  const { queue_length, ...figures } = fine.series[0]?.totals ?? {};
  expect([queue_length, figures]).toMatchObject([null, { error_count: RUNS / 5 }]);
  const filter = 'neq(name, "none")';
  const strides = [hours(1), hours(2), hours(24), { unit: "DAY", value: 1 }];
  for (const stride of strides) {
    const scanned = await series(stride, { ...fields, filter });
    await series(stride, fields);
    const kept = await series(stride, fields);
    expect(kept).toEqual(scanned);
    expect(kept.series[0]?.totals).toMatchObject(figures);
  }
});

test("a series of hours reads the runs of a quiet day once, until the day changes", async () => {
  const reads = (fields: object = {}, stride: object = hours(2)) =>
    countReads(() => series(stride, fields));
  await reads();
  expect([await reads(), await reads({}, hours(6))]).toEqual([0, 0]);
  await evictDurableObject(stub);
  expect(await reads()).toBe(0);
  const part = { start_time: new Date(DAY + 2 * HOUR_MS).toISOString() };
  for (const fields of [part, { is_root: false }, { filter: 'eq(status, "error")' }]) {
    expect(await reads(fields), JSON.stringify(fields)).toBeGreaterThan(0);
  }
  expect(await reads({}, { unit: "MINUTE", value: 30 })).toBeGreaterThan(0);
  const before = await series(hours(2));
  await send(one, wireRun(one.name, {}, { at: DAY + 5 }));
  expect(await reads()).toBeGreaterThan(0);
  const after = await series(hours(2));
  const counts = [before, after].map((found) => found.series[0]?.totals.run_count);
  expect(counts).toEqual([RUNS, RUNS + 1]);
});
