import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, catalogue, projectId, type WireRun, wireRun } from "./support/runs.ts";

type Stats = Record<string, unknown> & { run_count: number };

const NOON = Date.parse("2026-04-05T12:00:00Z");
const DAY = 86_400_000;

let ours: TestWorkspace;
let theirs: TestWorkspace;
let session: string;
let runs: WireRun[];

/** Returns a model's run on one of three days, with its own times, tokens and cost. */
function modelRun(n: number, parent?: WireRun): WireRun {
  const at = NOON + (n % 3) * DAY + n;
  const usage_metadata = { input_tokens: n, output_tokens: 1, total_cost: "0.1" };
  return wireRun(
    "counted",
    {
      name: n % 2 ? "odd" : "even",
      run_type: "llm",
      end_time: at + 1000 * (n + 1),
      outputs: { usage_metadata },
      events: n < 4 ? [{ name: "new_token", time: at + 500 }] : [],
      tags: n < 3 ? ["few", "all"] : ["all"],
      extra: { metadata: { user_id: `u${n % 2}`, thread_id: `t${n % 2}` } },
      ...(n === 9 ? { error: "broke" } : {}),
    },
    { at, ...(parent ? { parent } : {}) },
  );
}

beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
  runs = Array.from({ length: 10 }, (_, n) => modelRun(n));
  expect((await batch(ours.editor, runs)).status).toBe(202);
  session = (await projectId(ours.viewer, "counted")) ?? "";
  for (const [n, score] of [1, 0, 0.5].entries()) {
    const json = { run_id: runs[n]?.id, key: "good", score, value: "word" };
    expect((await api("/feedback", { key: ours.editor, json })).status).toBe(200);
  }
});

async function stats(json: Record<string, unknown>, path = "/runs/stats"): Promise<Stats> {
  const response = await api(path, { key: ours.viewer, json: { session: [session], ...json } });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  return JSON.parse(text) as Stats;
}

test("runs of several days are counted as one, under each path", async () => {
  for (const path of ["/runs/stats", "/api/v1/runs/stats", "/api/runs/stats"]) {
    const found = await stats({}, path);
    expect(found).toMatchObject({
      run_count: 10,
      latency_p50: expect.closeTo(5.499999, 5),
      latency_p99: expect.closeTo(9.909999, 5),
      first_token_p50: expect.closeTo(0.499999, 5),
      total_tokens: 55,
      prompt_tokens: 45,
      completion_tokens: 10,
      median_tokens: 5.5,
      total_cost: "1",
      prompt_cost: null,
      cost_p50: "0.1",
      error_rate: 0.1,
      streaming_rate: 0.4,
      last_run_start_time: runs[8]?.start_time,
      feedback_stats: { good: { n: 3, avg: 0.5, values: { word: 3 } } },
    });
    expect(found.run_facets).toContainEqual({
      key: "name",
      value: "odd",
      query: 'eq(name, "odd")',
      n: 5,
    });
  }
});

test.each([
  [{ filter: 'eq(name, "odd")' }, 5],
  [{ filter: 'has(tags, "few")' }, 3],
  [{ filter: 'and(eq(metadata_key, "user_id"), eq(metadata_value, "u1"))' }, 5],
  [{ filter: 'eq(feedback_key, "good")' }, 3],
  [{ trace_filter: 'eq(name, "even")' }, 5],
  [{ error: true }, 1],
  [{ is_root: false }, 0],
  [{ run_type: "tool" }, 0],
  [{ start_time: "2026-04-06T00:00:00Z" }, 6],
  [{ end_time: "2026-04-06T00:00:00Z" }, 4],
])("what %j finds is counted: %i", async (json, count) => {
  expect((await stats(json)).run_count).toBe(count);
});

test("runs are counted by id and by trace, whatever their project", async () => {
  const ids = runs.slice(0, 4).map(({ id }) => id);
  expect(await stats({ session: null, id: ids })).toMatchObject({ run_count: 4, total_tokens: 10 });
  expect(await stats({ session: null, trace: ids[0] })).toMatchObject({ run_count: 1 });
});

test("statistics of no runs are zero, not an error", async () => {
  expect(await stats({ filter: 'eq(name, "none")' })).toMatchObject({
    run_count: 0,
    latency_p50: null,
    error_rate: null,
    total_cost: null,
    last_run_start_time: null,
    feedback_stats: {},
    run_facets: [],
  });
});

test.each([
  [{ attribute: "name" }, { odd: 5, even: 5 }],
  [{ attribute: "run_type" }, { llm: 10 }],
  [{ attribute: "tag" }, { all: 10, few: 3 }],
  [{ attribute: "tag", max_groups: 1 }, { all: 10 }],
  [
    { attribute: "metadata", path: "user_id" },
    { u0: 5, u1: 5 },
  ],
])("runs are counted by group: %j", async (group_by, groups) => {
  const found = (await stats({ group_by })) as unknown as Record<string, Stats>;
  const counts = Object.entries(found).map(([name, { run_count }]) => [name, run_count]);
  expect(Object.fromEntries(counts)).toEqual(groups);
});

test("the largest group is found behind a thousand others of its day", async () => {
  const ofUser = (user_id: string, at: number) =>
    wireRun("crowd", { extra: { metadata: { user_id } } }, { at });
  const others = Array.from({ length: 1000 }, (_, n) => ofUser(`u${n}`, NOON + n));
  expect((await batch(ours.editor, others)).status).toBe(202);
  const late = Array.from({ length: 3 }, (_, n) => ofUser("largest", NOON + 5000 + n));
  expect((await batch(ours.editor, late)).status).toBe(202);
  const id = await projectId(ours.viewer, "crowd");
  const group_by = { attribute: "metadata", path: "user_id", max_groups: 1 };
  expect(await stats({ session: [id], group_by })).toMatchObject({ largest: { run_count: 3 } });
});

test("statistics contain only selected fields", async () => {
  expect(await stats({ select: ["run_count", "latency_p50"] })).toEqual({
    run_count: 10,
    latency_p50: expect.any(Number),
  });
});

test("statistics of runs by id count those that match the other fields", async () => {
  const id = runs.map((run) => run.id);
  const all = await stats({ id, session: [session] });
  expect(all).toEqual(await stats({ id, session: null }));
  const failed = await stats({ id, session: null, error: true });
  expect(failed.run_count).toBeLessThan(Number(all.run_count));
  expect(failed).toMatchObject({ error_rate: 1 });
  await batch(ours.editor, [wireRun("not these")]);
  const other = await projectId(ours.viewer, "not these");
  expect(await stats({ id, session: [other] })).toMatchObject({ run_count: 0 });
});

describe("statistics reject", () => {
  test.each([
    [{ session: null }, "session"],
    [{ filter: "eq(" }, "filter"],
    [{ group_by: { attribute: "metadata" } }, "path"],
    [{ group_by: { attribute: "color" } }, "attribute"],
  ])("for %j", async (wrong, field) => {
    const json = { session: [session], ...wrong };
    const response = await api("/runs/stats", { key: ours.viewer, json });
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining(field)]);
  });

  test("anonymous callers and other workspaces", async () => {
    const json = { session: [session] };
    expect((await api("/runs/stats", { json })).status).toBe(401);
    expect((await api("/runs/stats", { key: theirs.admin, json })).status).toBe(404);
    const byId = { key: theirs.admin, json: { id: runs.map(({ id }) => id) } };
    expect(await (await api("/runs/stats", byId)).json()).toMatchObject({ run_count: 0 });
  });
});

test("percentiles of many runs on many days are half a per cent off at most", async () => {
  const many = Array.from({ length: 900 }, (_, n) => {
    const at = NOON + (n % 3) * DAY + n;
    return wireRun("many", { end_time: at + 10 * (n + 1) }, { at });
  });
  expect((await batch(ours.editor, many)).status).toBe(202);
  const id = await projectId(ours.viewer, "many");
  const found = await stats({ session: [id] });
  expect(found.run_count).toBe(900);
  expect(Number(found.latency_p50) / 4.505).toBeCloseTo(1, 2);
  expect(Number(found.latency_p99) / 8.91).toBeCloseTo(1, 2);
});

describe("project statistics", () => {
  type Project = Stats & { id: string };
  const read = async (id: string, query = "?include_stats=true") =>
    (await api(`/sessions/${id}${query}`, { key: ours.viewer })).json<Project>();
  const list = async (query: string) =>
    (await api(`/sessions?${query}`, { key: ours.viewer })).json<Project[]>();

  test("count traces, and each token once", async () => {
    const usage_metadata = { input_tokens: 5, output_tokens: 2, total_cost: "0.02" };
    const at = Date.now() - 1000;
    const outputs = { output: { usage_metadata } };
    const root = wireRun("agentic", { end_time: at + 3000, outputs }, { at });
    const fields = { run_type: "llm", outputs: { usage_metadata }, error: "broke" };
    const child = wireRun("agentic", fields, { at: at + 1, parent: root });
    const other = wireRun("agentic", { outputs: { usage_metadata } }, { at: at + 2 });
    await batch(ours.editor, [root, child, other]);
    const id = (await projectId(ours.viewer, "agentic")) ?? "";
    const json = { run_id: child.id, key: "good", score: 1 };
    await api("/feedback", { key: ours.editor, json });
    const expected = {
      id,
      run_count: 2,
      latency_p50: expect.closeTo(2.999999, 5),
      total_tokens: 14,
      total_cost: "0.04",
      error_rate: 0,
      last_run_start_time: other.start_time,
      feedback_stats: { good: { n: 1, avg: 1 } },
    };
    expect(await read(id)).toMatchObject(expected);
    expect(await list("name=agentic&include_stats=true")).toMatchObject([expected]);
    expect(await read(id, "")).toMatchObject({ latency_p50: null, total_tokens: null });
    const several = await list("include_stats=true");
    expect(several.find((project) => project.id === id)).toMatchObject(expected);
  });

  test("cover a week in lists of several projects, or start at the given time", async () => {
    const counts = async (query: string) => {
      const projects = await list(`include_stats=true&${query}`);
      return projects.find(({ id }) => id === session)?.run_count;
    };
    expect(await counts("")).toBe(0);
    expect(await counts("stats_start_time=2026-04-06T00:00:00Z")).toBe(6);
    expect(await read(session)).toMatchObject({ run_count: 10 });
  });

  test("come from the catalogue after a quiet period, until a change", async () => {
    const at = NOON;
    const run = wireRun("resting", { end_time: at + 2000 }, { at });
    await batch(ours.editor, [run]);
    const id = (await projectId(ours.viewer, "resting")) ?? "";
    const stub = env.PARTITIONS.getByName(`${id}/2026-04-05/0`);
    await runInDurableObject(stub, (_, { storage }) => {
      const counts = "UPDATE small_segments_0 SET counts = json_set(counts, '$.seq', ?)";
      storage.sql.exec(counts, (Date.now() - 120_000) * 1000);
    });
    await evictDurableObject(stub);
    await runDurableObjectAlarm(stub);
    const [row] = (await catalogue(id)).results;
    expect(row).toMatchObject({ roots: 1, stats: expect.any(String), stats_seq: row?.seq });
    await env.DB.prepare("UPDATE partitions SET stats = json_set(stats, '$.totals.runs', 7)")
      .bind()
      .run();
    expect(await read(id)).toMatchObject({ run_count: 7, latency_p50: expect.closeTo(2, 3) });
    await batch(ours.editor, [wireRun("resting", {}, { at: at + 1 })]);
    await runDurableObjectAlarm(stub);
    expect(await read(id)).toMatchObject({ run_count: 2 });
  });

  test("fit the catalogue with long values, which count by their beginning", async () => {
    const run = wireRun("judged", {}, { at: NOON });
    await batch(ours.editor, [run]);
    const id = (await projectId(ours.viewer, "judged")) ?? "";
    for (let n = 100; n < 125; n++) {
      const json = { run_id: run.id, key: "reason", value: `${n}${"x".repeat(90_000)}` };
      expect((await api("/feedback", { key: ours.editor, json })).status).toBe(200);
    }
    const two_minutes_later = Date.now() + 120_000;
    const now = vi.spyOn(Date, "now").mockImplementation(() => two_minutes_later);
    await runDurableObjectAlarm(env.PARTITIONS.getByName(`${id}/2026-04-05/0`));
    now.mockRestore();
    const [row] = (await catalogue(id)).results;
    expect(row).toMatchObject({ stats: expect.any(String), stats_seq: row?.seq });
    const { feedback_stats } = (await read(id)) as { feedback_stats?: Record<string, object> };
    const values = Array.from({ length: 25 }, (_, n) => [`${n + 100}${"x".repeat(247)}`, 1]);
    expect(feedback_stats?.reason).toEqual({
      ...{ n: 25, avg: null },
      values: Object.fromEntries(values),
    });
  });
});

describe("a time series", () => {
  type Bucket = { start_time: string; run_count: number; total_tokens: number };
  type Series = {
    series: { group: string | null; is_rest: boolean; totals: Bucket; buckets: Bucket[] }[];
  };
  const range = { start_time: "2026-04-05T12:00:00Z", end_time: "2026-04-08T00:00:00Z" };
  const series = async (json: Record<string, unknown>) =>
    (await stats({ ...range, ...json })) as unknown as Series & Record<string, unknown>;
  const counts = ({ series }: Series) =>
    series.map(({ group, is_rest, buckets }) => [
      group,
      is_rest,
      buckets.map(({ run_count }) => run_count),
    ]);

  test("has the figures of each bucket, aligned to its stride, over several days", async () => {
    const found = await series({ stride: { unit: "DAY", value: 1 } });
    expect(found).toMatchObject({
      start_time: "2026-04-05T00:00:00.000000Z",
      end_time: "2026-04-09T00:00:00.000000Z",
      stride_seconds: 86_400,
    });
    const [all] = found.series;
    expect(all).toMatchObject({
      group: null,
      is_rest: false,
      totals: { run_count: 10, error_count: 1, error_rate: 0.1, total_tokens: 55, total_cost: "1" },
      buckets: [
        {
          start_time: "2026-04-05T00:00:00.000000Z",
          run_count: 4,
          error_count: 1,
          latency_p50: expect.closeTo(5.499999, 5),
          latency_p99: expect.closeTo(9.909999, 5),
          first_token_p50: expect.closeTo(0.497499, 2),
          total_tokens: 22,
          prompt_tokens: 18,
          completion_tokens: 4,
          total_cost: "0.4",
        },
        { start_time: "2026-04-06T00:00:00.000000Z", run_count: 3, error_rate: 0 },
        { start_time: "2026-04-07T00:00:00.000000Z", run_count: 3 },
      ],
    });
    const fine = await series({
      ...range,
      end_time: range.start_time,
      stride: { unit: "SECOND", value: 5 },
    });
    expect(fine.series[0]?.buckets.map(({ run_count }) => run_count)).toEqual([4]);
  });

  test.each([
    [
      { attribute: "name" },
      [
        ["even", false, [2, 1, 2]],
        ["odd", false, [2, 2, 1]],
      ],
    ],
    [
      { attribute: "name", max_groups: 1 },
      [
        ["even", false, [2, 1, 2]],
        [null, true, [2, 2, 1]],
      ],
    ],
    [
      { attribute: "status" },
      [
        ["success", false, [3, 3, 3]],
        ["error", false, [1]],
      ],
    ],
    [
      { attribute: "tag" },
      [
        ["all", false, [4, 3, 3]],
        ["few", false, [1, 1, 1]],
      ],
    ],
    [
      { attribute: "metadata", path: "user_id", max_groups: 1 },
      [
        ["u0", false, [2, 1, 2]],
        [null, true, [2, 2, 1]],
      ],
    ],
    [{ attribute: "metadata", path: "none" }, [[null, true, [4, 3, 3]]]],
  ])("of the groups of %j counts the rest too", async (group_by, expected) => {
    expect(counts(await series({ group_by, stride: { unit: "DAY", value: 1 } }))).toEqual(expected);
  });

  test("has the wait of root runs, and the mean length of the queue", async () => {
    const waits = [1000, 3000, "2000", -5, "soon", null];
    const roots = waits.map((queue_wait_ms, n) =>
      wireRun("queued", { extra: { metadata: { queue_wait_ms } } }, { at: NOON + n }),
    );
    const [first] = roots;
    if (first === undefined) throw new Error("No root run was made");
    const child = { extra: { metadata: { queue_wait_ms: 900_000 } } };
    await batch(ours.editor, [...roots, wireRun("queued", child, { at: NOON, parent: first })]);
    const found = await series({
      session: [await projectId(ours.viewer, "queued")],
      ...{ start_time: "2026-04-05T12:00:00Z", end_time: "2026-04-05T12:00:50Z" },
      stride: { unit: "SECOND", value: 30 },
    });
    const figures = { queue_wait_p50: 1, queue_wait_p99: expect.closeTo(2.96, 2) };
    expect(found.series[0]).toMatchObject({
      totals: { ...figures, run_count: 7, queue_length: expect.closeTo(4 / 60, 5) },
      buckets: [{ ...figures, queue_length: expect.closeTo(4 / 30, 5) }],
    });
    const [all] = (await series({ stride: { unit: "DAY", value: 1 } })).series;
    expect(all?.totals).toMatchObject({ queue_wait_p50: null, queue_length: null });
  });

  test("of no runs has an empty series", async () => {
    const found = await series({ filter: 'eq(name, "none")', stride: { unit: "HOUR", value: 6 } });
    expect(found.series).toEqual([
      {
        group: null,
        is_rest: false,
        buckets: [],
        totals: expect.objectContaining({ run_count: 0 }),
      },
    ]);
  });

  test.each([
    [{ stride: { unit: "SECOND", value: 1 } }, "stride"],
    [
      { stride: { unit: "HOUR", value: 1 }, group_by: { attribute: "name", max_groups: 100 } },
      "stride",
    ],
    [{ stride: { unit: "WEEK", value: 1 } }, "unit"],
    [{ stride: { unit: "DAY", value: 0 } }, "value"],
    [{ stride: { unit: "DAY", value: 1 }, start_time: null }, "start_time"],
  ])("is refused for %j", async (wrong, field) => {
    const json = { session: [session], ...range, ...wrong };
    const response = await api("/runs/stats", { key: ours.viewer, json });
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining(field)]);
  });
});
