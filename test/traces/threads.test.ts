import { beforeAll, expect, test } from "vitest";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, projectId, wireRun } from "./support/runs.ts";

let ours: TestWorkspace;
let theirs: TestWorkspace;
let project_id: string;
const START = Date.now() - 60_000;

/** Two turns of thread a/1, the second of which failed, and one of thread b. */
const TURNS = [
  ["a/1", { inputs: { q: "hello" }, outputs: { a: "hi" } }],
  ["b", { inputs: { q: "other" }, outputs: {} }],
  ["a/1", { inputs: { q: "more" }, outputs: { a: "end" }, error: "it broke" }],
] as const;

beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
  const runs = TURNS.flatMap(([thread_id, fields], n) => {
    const at = START + n * 1000;
    const end_time = new Date(at + 500).toISOString();
    const extra = { metadata: { thread_id } };
    const root = wireRun("talks", { name: `turn ${n}`, ...fields, extra, end_time }, { at });
    const usage_metadata = { input_tokens: 7, output_tokens: 3, total_tokens: 10 };
    const model = { run_type: "llm", outputs: { usage_metadata }, end_time };
    return [root, wireRun("talks", model, { parent: root, at: at + 1 })];
  });
  expect((await batch(ours.editor, runs)).status).toBe(202);
  project_id = (await projectId(ours.viewer, "talks")) ?? "";
});

function query(json: object, key = ours.viewer) {
  return api("/api/v2/threads/query", { key, json: { project_id, ...json } });
}

type Threads = { items: { thread_id: string }[]; next_cursor: string | null; has_more: boolean };

test("threads are grouped with their totals, the most recently active first", async () => {
  const { items, has_more } = await (await query({})).json<Threads>();
  expect(has_more).toBe(false);
  expect(items).toMatchObject([
    {
      thread_id: "a/1",
      count: 2,
      num_errored_turns: 1,
      total_tokens: 20,
      first_inputs: '{"q":"hello"}',
      last_outputs: '{"a":"end"}',
      last_error: "it broke",
    },
    { thread_id: "b", count: 1, num_errored_turns: 0, last_error: null },
  ]);
});

test("pages of threads do not move when a thread is active again", async () => {
  const first = await (await query({ page_size: 1 })).json<Threads>();
  const cursor = first.next_cursor;
  const extra = { metadata: { thread_id: "b" } };
  await batch(ours.editor, [wireRun("talks", { extra, name: "late" })]);
  const second = await (await query({ page_size: 1, cursor })).json<Threads>();
  expect([first, second]).toMatchObject([
    { items: [{ thread_id: "a/1" }], has_more: true },
    { items: [{ thread_id: "b", count: 1 }], has_more: false, next_cursor: null },
  ]);
});

test("pages of threads do not move when an older trace arrives late", async () => {
  const turn = (thread_id: string, at: number) =>
    wireRun("late talks", { extra: { metadata: { thread_id } } }, { at });
  await batch(ours.editor, [turn("new", START + 3000), turn("old", START + 1000)]);
  const id = await projectId(ours.viewer, "late talks");
  const page = async (cursor: string | null) =>
    (await query({ project_id: id, page_size: 1, cursor })).json<Threads>();
  const first = await page(null);
  await batch(ours.editor, [turn("between", START + 2000)]);
  expect([first, await page(first.next_cursor)]).toMatchObject([
    { items: [{ thread_id: "new" }], has_more: true },
    { items: [{ thread_id: "old" }], has_more: false },
  ]);
});

test("filters and times narrow threads; what is not supported is refused", async () => {
  const ids = async (json: object) =>
    (await (await query(json)).json<Threads>()).items.map(({ thread_id }) => thread_id);
  expect(await ids({ filter: 'eq(status, "error")' })).toEqual(["a/1"]);
  expect(await ids({ trace_filter: 'eq(name, "turn 1")' })).toEqual(["b"]);
  expect(await ids({ tree_filter: 'eq(run_type, "llm")' })).toEqual(["a/1", "b"]);
  expect(await ids({ max_start_time: new Date(START + 500).toISOString() })).toEqual(["a/1"]);
  for (const json of [{ thread_filter: "x" }, { ai_search: "x" }, { cursor: "x" }]) {
    expect((await query(json)).status).toBe(422);
  }
  expect((await query({}, theirs.admin)).status).toBe(404);
});

test("the traces of a thread are listed by page, the oldest first", async () => {
  const path = `/api/v2/threads/${encodeURIComponent("a/1")}/traces?project_id=${project_id}`;
  const get = async (rest: string) =>
    (await api(path + rest, { key: ours.viewer })).json<{
      items: Record<string, unknown>[];
      next_cursor: string | null;
    }>();
  const first = await get("&page_size=1&selects=NAME&selects=INPUTS_PREVIEW");
  expect(first.items).toEqual([
    { trace_id: expect.any(String), name: "turn 0", inputs_preview: '{"q":"hello"}' },
  ]);
  const second = await get(`&page_size=1&cursor=${first.next_cursor}`);
  expect(second).toMatchObject({
    items: [
      {
        name: "turn 2",
        error_preview: "it broke",
        latency: expect.closeTo(0.5, 3),
        total_tokens: 10,
      },
    ],
    next_cursor: null,
  });
  expect(second.items[0]).not.toHaveProperty("inputs");
  expect((await get(`&filter=${encodeURIComponent("gt(latency, 9)")}`)).items).toEqual([]);
  expect((await api(path, { key: theirs.admin })).status).toBe(404);
});

test("statistics of one thread and of all have the selected fields", async () => {
  const path = `/api/v2/threads/${encodeURIComponent("a/1")}/stats?session_id=${project_id}`;
  const one = await api(`${path}&selects=TURNS&selects=LATENCY_P50&selects=TOTAL_TOKENS`, {
    key: ours.viewer,
  });
  expect(await one.json()).toEqual({
    turns: 2,
    latency_p50_seconds: expect.closeTo(0.5, 2),
    total_tokens: 20,
  });
  const max_start_time = new Date(START + 5000).toISOString();
  const json = {
    project_id,
    select: ["THREAD_COUNT", "TRACE_COUNT", "ERROR_RATE"],
    max_start_time,
  };
  const all = await api("/api/v2/threads/stats", { key: ours.viewer, json });
  expect(await all.json()).toEqual({
    thread_count: 2,
    trace_count: 3,
    error_rate: expect.closeTo(1 / 3, 5),
  });
  const none = await api(`/api/v2/threads/none/stats?session_id=${project_id}&selects=TURNS`, {
    key: ours.viewer,
  });
  expect(await none.json()).toEqual({ turns: 0 });
});

test("a filter of a thread's traces is one expression, with its own positions in errors", async () => {
  const paths = ["traces", "stats"].map((name) => {
    const project = name === "stats" ? "session_id" : "project_id";
    return `/api/v2/threads/b/${name}?${project}=${project_id}&selects=TURNS`;
  });
  for (const path of paths) {
    for (const [filter, text] of [
      ['eq(name, "a"), eq(run_type, "llm")', "At character 14"],
      ["eq(", "At character 4"],
    ]) {
      const answer = await api(`${path}&filter=${encodeURIComponent(filter ?? "")}`, {
        key: ours.viewer,
      });
      expect([answer.status, await answer.text()]).toEqual([
        422,
        expect.stringContaining(text ?? ""),
      ]);
    }
  }
});
