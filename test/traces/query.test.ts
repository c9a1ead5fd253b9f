import { beforeAll, describe, expect, test } from "vitest";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, idAt, projectId, type ReadRun, type WireRun, wireRun } from "./support/runs.ts";

type Page = { runs: ReadRun[]; cursors: { next: string | null } };

const NOON = Date.parse("2026-05-05T12:00:00Z");
const DAY = 86_400_000;

let ours: TestWorkspace;
let theirs: TestWorkspace;
let session: string;
let root: WireRun;
let llm: WireRun;
let tool: WireRun;
let next: WireRun;

beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
  root = wireRun("p", { name: "agent", tags: ["prod"], error: "broke" }, { at: NOON });
  llm = wireRun(
    "p",
    {
      name: "model",
      run_type: "llm",
      outputs: { usage_metadata: { input_tokens: 5, output_tokens: 2, total_cost: 0.01 } },
      end_time: NOON + 2000,
      extra: { metadata: { user_id: "u2", thread_id: "t1" } },
    },
    { at: NOON + 10, parent: root },
  );
  tool = wireRun("p", { name: "search", run_type: "tool" }, { at: NOON + 20, parent: root });
  next = wireRun("p", { name: "agent", end_time: NOON + DAY + 1 }, { at: NOON + DAY });
  expect((await batch(ours.editor, [root, llm, tool, next])).status).toBe(202);
  await batch(ours.editor, [wireRun("other", {}, { at: NOON })]);
  session = (await projectId(ours.viewer, "p")) ?? "";
});

async function query(json: Record<string, unknown>, key = ours.viewer) {
  const response = await api("/runs/query", { key, json: { session: [session], ...json } });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  return JSON.parse(text) as Page;
}

async function names(json: Record<string, unknown>): Promise<unknown[]> {
  return (await query({ order: "asc", ...json })).runs.map(({ name }) => name);
}

test.each([
  [{}, ["agent", "model", "search", "agent"]],
  [{ order: "desc" }, ["agent", "search", "model", "agent"]],
  [{ is_root: true }, ["agent", "agent"]],
  [{ is_root: false }, ["model", "search"]],
  [{ execution_order: 1 }, ["agent", "agent"]],
  [{ execution_order: 1, is_root: false }, []],
  [{ execution_order: 2 }, []],
  [{ run_type: "tool" }, ["search"]],
  [{ error: true }, ["agent"]],
  [{ error: false }, ["model", "search", "agent"]],
  [{ start_time: "2026-05-06T00:00:00Z" }, ["agent"]],
  [{ end_time: "2026-05-05T12:00:00.010Z" }, ["agent"]],
  [{ start_time: null, limit: 2 }, ["agent", "model"]],
  [{ filter: 'eq(name, "search")' }, ["search"]],
  [{ filter: 'has(tags, "prod")' }, ["agent"]],
  [{ filter: 'and(eq(metadata_key, "user_id"), eq(metadata_value, "u2"))' }, ["model"]],
  [{ filter: 'eq(thread_id, "t1")' }, ["model"]],
  [{ filter: "gt(total_tokens, 6)" }, ["agent", "model"]],
  [{ filter: "gte(latency, 1.5)" }, ["model"]],
  [{ filter: 'search("broke")' }, ["agent"]],
  [{ query: "Broke" }, ["agent"]],
  [{ query: "broke", filter: 'eq(name, "model")' }, []],
  [{ search_filter: 'eq(name, "agent")', filter: 'has(tags, "prod")' }, ["agent"]],
  [{ trace_filter: 'has(tags, "prod")' }, ["agent", "model", "search"]],
  [{ tree_filter: 'eq(run_type, "llm")', is_root: true }, ["agent"]],
  [{ filter: 'eq(name, "agent")', tree_filter: 'eq(name, "search")' }, ["agent"]],
])("a query of %j finds %j", async (json, found) => {
  expect(await names(json)).toEqual(found);
});

test("runs are found by trace, parent and id, with or without their project", async () => {
  const byTrace = { session: null, trace: root.id, order: "asc" };
  expect((await query(byTrace)).runs.map(({ id }) => id)).toEqual([root.id, llm.id, tool.id]);
  expect(await names({ session: null, parent_run: root.id })).toEqual(["model", "search"]);
  const byId = await query({ session: null, id: [tool.id, next.id] });
  expect(byId.runs.map(({ id }) => id)).toEqual([next.id, tool.id]);
});

test("runs named by id match the other fields of a query too", async () => {
  const id = [root.id, llm.id, tool.id, next.id];
  const find = (json: object) => names({ session: null, id, ...json });
  expect(await find({})).toEqual(["agent", "model", "search", "agent"]);
  expect(await find({ is_root: true })).toEqual(["agent", "agent"]);
  expect(await find({ error: true })).toEqual(["agent"]);
  expect(await find({ run_type: "tool", trace: root.id })).toEqual(["search"]);
  expect(await find({ filter: 'eq(name, "model")' })).toEqual(["model"]);
  expect(await find({ trace_filter: 'has(tags, "prod")' })).toEqual(["agent", "model", "search"]);
  expect(await find({ start_time: "2026-05-06T00:00:00Z" })).toEqual(["agent"]);
  await batch(ours.editor, [wireRun("elsewhere")]);
  const other = await projectId(ours.viewer, "elsewhere");
  expect(await find({ session: [other] })).toEqual([]);
  expect(await find({ session: [session, other] })).toHaveLength(4);
  const first = await query({ session: null, id, limit: 3 });
  const rest = await query({ session: null, id, limit: 3, cursor: first.cursors.next });
  expect([first.runs.length, rest.runs.length, rest.cursors.next]).toEqual([3, 1, null]);
  const json = { id, session: [idAt(1)] };
  expect((await api("/runs/query", { key: ours.viewer, json })).status).toBe(404);
});

test("trace filters match runs on both sides of midnight", async () => {
  const midnight = Date.parse("2026-06-02T00:00:00Z");
  const evening = wireRun("span", { name: "evening", tags: ["x"] }, { at: midnight - 5 });
  const morning = wireRun("span", { name: "morning" }, { at: midnight + 5, parent: evening });
  const alone = wireRun("span", { name: "alone" }, { at: midnight + 6 });
  await batch(ours.editor, [evening, morning, alone]);
  const ids = [(await projectId(ours.viewer, "span")) ?? ""];
  const found = (json: Record<string, unknown>) => names({ session: ids, ...json });
  expect(await found({ trace_filter: 'has(tags, "x")' })).toEqual(["evening", "morning"]);
  expect(await found({ trace_filter: 'eq(name, "morning")' })).toEqual([]);
  expect(await found({ tree_filter: 'eq(name, "morning")' })).toEqual(["evening", "morning"]);
  expect(await found({ tree_filter: 'eq(name, "evening")', is_root: false })).toEqual(["morning"]);
  const since = { start_time: "2026-06-02T00:00:00Z" };
  expect(await found({ ...since, tree_filter: 'has(tags, "x")' })).toEqual(["morning"]);
});

test("a boolean may be 0 or 1, as calls of Python write it", async () => {
  const ids = async (body: Record<string, unknown>) => (await query(body)).runs.map(({ id }) => id);
  expect(await ids({ is_root: 1 })).toEqual(await ids({ is_root: true }));
  expect(await ids({ error: 0 })).toEqual(await ids({ error: false }));
});

test("returns only selected fields, and those that LangSmith's clients require", async () => {
  const { runs } = await query({ filter: 'eq(name, "model")', select: ["total_cost", "inputs"] });
  const selected = { total_cost: "0.01", inputs: { question: "why" } };
  const required = { name: "model", run_type: "llm", trace_id: llm.trace_id };
  const start_time = expect.stringContaining("T");
  expect(runs).toEqual([{ id: llm.id, ...required, start_time, ...selected }]);
});

test("returns a line of the payloads of a run, without them", async () => {
  const select = ["inputs_preview", "outputs_preview"];
  const [run] = (await query({ filter: 'eq(name, "model")', select })).runs;
  expect(run).toMatchObject({ id: llm.id, inputs_preview: "why" });
  expect(run).toHaveProperty("outputs_preview");
  expect(run).not.toHaveProperty("inputs");
  const json = { ids: [llm.id], selects: ["ID", "INPUTS_PREVIEW"] };
  const newer = await api("/v2/runs/query", { key: ours.viewer, json });
  expect(await newer.json()).toMatchObject({ items: [{ id: llm.id, inputs_preview: "why" }] });
});

test("pages hold each run once while others arrive between them", async () => {
  const project = "paged";
  const made = Array.from({ length: 7 }, (_, n) =>
    wireRun(project, { name: `n${n}` }, { at: NOON + Math.floor(n / 2) * DAY + n }),
  );
  await batch(ours.editor, made);
  const ids = [(await projectId(ours.viewer, project)) ?? ""];
  const seen: unknown[] = [];
  let cursor: string | null = null;
  do {
    const page: Page = await query({ session: ids, limit: 2, cursor });
    seen.push(...page.runs.map(({ name }) => name));
    cursor = page.cursors.next;
    await batch(ours.editor, [wireRun(project, { name: "late" }, { at: NOON + seen.length })]);
  } while (cursor);
  expect(seen).toEqual(["n6", "n5", "n4", "n3", "n2", "n1", "n0"]);
});

describe("version 2", () => {
  const query = (json: unknown, key = ours.viewer) => api("/api/v2/runs/query", { key, json });

  test("has its own names of fields in requests and responses", async () => {
    const selects = ["ID", "NAME", "STATUS", "RUN_TYPE", "PROJECT_ID", "LATENCY_SECONDS"];
    const min_start_time = "2026-05-01T00:00:00Z";
    const request = { project_ids: [session], min_start_time, run_type: "LLM", selects };
    expect(await (await query(request)).json()).toEqual({
      items: [
        {
          id: llm.id,
          name: "model",
          status: "SUCCESS",
          run_type: "LLM",
          project_id: session,
          latency_seconds: 1.989999,
        },
      ],
      has_more: false,
      next_cursor: null,
    });
    const recent = await query({ project_ids: [session] });
    expect(await recent.json()).toMatchObject({ items: [] });
  });

  test("returns one run, only to its workspace", async () => {
    const path = `/api/v2/runs/${tool.id}?selects=NAME&selects=PROJECT_ID`;
    const response = await api(path, { key: ours.viewer });
    expect(await response.json()).toEqual({ id: tool.id, name: "search", project_id: session });
    expect((await api(path, { key: theirs.admin })).status).toBe(404);
  });

  test("returns errors as problem+json", async () => {
    const response = await query({ project_ids: [session], filter: "eq(" });
    expect(response.status).toBe(422);
    expect(response.headers.get("Content-Type")).toBe("application/problem+json");
    expect(await response.json()).toMatchObject({
      status: 422,
      detail: expect.stringContaining("filter"),
      instance: "/api/v2/runs/query",
    });
  });
});

describe("a query is rejected", () => {
  test.each([
    [{ session: null }, "session"],
    [{ filter: "eq(name" }, "filter"],
    [{ tree_filter: 'eq(color, "x")' }, "tree_filter"],
    [{ cursor: "x" }, "cursor"],
    [{ limit: 0 }, "limit"],
    [{ start_time: "soon" }, "start_time"],
    [{ filter: `in(name, ["${"a".repeat(70_000)}"])` }, "filter"],
  ])("that has %#", async (wrong, field) => {
    const json = { session: [session], ...wrong };
    const response = await api("/runs/query", { key: ours.viewer, json });
    expect(response.status).toBe(422);
    expect(await response.text()).toContain(field);
  });

  test("for another workspace's project, trace or run", async () => {
    const json = { session: [session] };
    expect((await api("/runs/query", { key: theirs.admin, json })).status).toBe(404);
    for (const other of [{ trace: root.id }, { id: [root.id] }]) {
      const response = await api("/runs/query", { key: theirs.admin, json: other });
      expect(await response.json()).toMatchObject({ runs: [] });
    }
    expect((await api("/runs/query", { json })).status).toBe(401);
  });
});

test("accepts a filter at the limits of depth and width", async () => {
  const deep = `${"and(".repeat(63)}eq(name, "search")${")".repeat(63)}`;
  const wide = `or(${Array.from({ length: 29 }, (_, n) => `eq(name, "${n}")`).join()}, ${deep.slice(4, -1)})`;
  expect(await names({ filter: wide, trace_filter: wide, tree_filter: wide })).toEqual([]);
  expect(await names({ filter: deep, tree_filter: deep })).toEqual(["search"]);
  const many = `or(${Array.from({ length: 50 }, (_, n) => `eq(name, "${n}")`).join()})`;
  const json = { session: [session], filter: many, trace_filter: many };
  const response = await api("/runs/query", { key: ours.viewer, json });
  expect([response.status, await response.text()]).toEqual([
    422,
    expect.stringContaining("100 values"),
  ]);
});

test("indexes the final state of a run that one request posts and patches", async () => {
  const run = wireRun("twice", { tags: ["before"], outputs: { answer: "before" } }, { at: NOON });
  const change = { id: run.id, trace_id: run.trace_id, dotted_order: run.dotted_order };
  const patched = { ...change, tags: ["after"], outputs: { answer: "after" } };
  expect((await batch(ours.editor, [run], [patched])).status).toBe(202);
  const project = (await projectId(ours.viewer, "twice")) ?? "";
  for (const filter of ['has(tags, "X")', 'eq(output_value, "X")']) {
    const found = async (word: string) =>
      (await query({ session: [project], filter: filter.replace("X", word) })).runs.length;
    expect([filter, await found("after"), await found("before")]).toEqual([filter, 1, 0]);
  }
});

test("finds all runs of a batch after a later batch changes some of them", async () => {
  const extra = { metadata: { color: "red" } };
  const [one, two, three] = ["one", "two", "three"].map((name) =>
    wireRun("shared", { name, extra, tags: ["t"] }),
  ) as [WireRun, WireRun, WireRun];
  await batch(ours.editor, [one, two]);
  const { dotted_order, trace_id } = one;
  const change = { id: one.id, dotted_order, trace_id, session_name: "shared", extra, tags: ["t"] };
  await batch(ours.editor, [three], [change]);
  await batch(ours.editor, [], [{ ...change, tags: ["u"] }]);
  const session = [(await projectId(ours.viewer, "shared")) ?? ""];
  const found = async (filter: string) => (await names({ session, filter })).sort();
  const red = 'and(eq(metadata_key, "color"), eq(metadata_value, "red"))';
  expect(await found(red)).toEqual(["one", "three", "two"]);
  expect(await found('eq(metadata_key, "color")')).toEqual(["one", "three", "two"]);
  expect(await found('has(tags, "t")')).toEqual(["three", "two"]);
  expect(await found('has(tags, "u")')).toEqual(["one"]);
});
