import { beforeAll, expect, test } from "vitest";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, projectId, type WireRun, wireRun } from "./support/runs.ts";

type Page = {
  items: { root_run: Record<string, unknown>; trace_aggregates?: Record<string, unknown> }[];
  has_more: boolean;
  next_cursor: string | null;
};

const START = Date.now() - 60_000;

let ours: TestWorkspace;
let theirs: TestWorkspace;
let project_id: string;
let roots: WireRun[];

/** Three traces, each with a model call. The second failed. */
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
  const runs = [0, 1, 2].map((n) => {
    const at = START + n * 1000;
    const error = n === 1 ? { error: "it broke" } : {};
    const root = wireRun("traces", { name: `trace ${n}`, end_time: at + 500, ...error }, { at });
    const usage_metadata = { input_tokens: 7, output_tokens: n, total_cost: 0.5 };
    const model = { name: "model", run_type: "llm", outputs: { usage_metadata } };
    return [root, wireRun("traces", model, { parent: root, at: at + 1 })] as const;
  });
  roots = runs.map(([root]) => root);
  expect((await batch(ours.editor, runs.flat())).status).toBe(202);
  project_id = (await projectId(ours.viewer, "traces")) ?? "";
});

async function query(json: object): Promise<Page> {
  const response = await api("/api/v2/traces/query", {
    key: ours.viewer,
    json: { project_id, ...json },
  });
  expect(response.status).toBe(200);
  return response.json();
}

const namesOf = ({ items }: Page) => items.map(({ root_run }) => root_run.name);
const selects = ["NAME"];

test("traces are root runs with the totals of their traces, the newest first", async () => {
  expect(await query({ selects: ["NAME", "STATUS", "TOTAL_TOKENS", "TOTAL_COST"] })).toEqual({
    items: [2, 1, 0].map((n) => ({
      root_run: {
        id: roots[n]?.id,
        name: `trace ${n}`,
        status: n === 1 ? "ERROR" : "SUCCESS",
      },
      trace_aggregates: { total_tokens: 7 + n, total_cost: 0.5 },
    })),
    has_more: false,
    next_cursor: null,
  });
  expect((await query({})).items).toEqual(
    [2, 1, 0].map((n) => ({ root_run: { id: roots[n]?.id } })),
  );
});

test("traces have pages, filters and times", async () => {
  const first = await query({ selects, page_size: 2 });
  const rest = await query({ selects, page_size: 2, cursor: first.next_cursor });
  expect([first, rest].map(namesOf)).toEqual([["trace 2", "trace 1"], ["trace 0"]]);
  expect([first.has_more, rest.has_more]).toEqual([true, false]);
  const found = async (json: object) => namesOf(await query({ selects, ...json }));
  expect(await found({ trace_filter: 'eq(status, "error")' })).toEqual(["trace 1"]);
  expect(await found({ tree_filter: "eq(completion_tokens, 2)" })).toEqual(["trace 2"]);
  expect(await found({ trace_ids: [roots[0]?.id, roots[1]?.id] })).toEqual(["trace 1", "trace 0"]);
  const both = { trace_ids: [roots[0]?.id], trace_filter: 'eq(status, "error")' };
  expect(await found(both)).toEqual([]);
  expect(await found({ max_start_time: new Date(START + 500).toISOString() })).toEqual(["trace 0"]);
});

test("no trace is found among no ids", async () => {
  expect(await query({ trace_ids: [] })).toEqual({ items: [], has_more: false, next_cursor: null });
});

test("traces of other workspaces and filters that need a model are refused", async () => {
  const status = async (json: object, key = ours.viewer) =>
    (await api("/api/v2/traces/query", { key, json: { project_id, ...json } })).status;
  expect(await status({}, theirs.admin)).toBe(404);
  expect(await status({ sem_filter: "angry users" })).toBe(422);
  expect(await status({ cursor: "x" })).toBe(422);
});

test("the runs of a trace are one object with its project, and lines without", async () => {
  const path = `/api/v2/traces/${roots[1]?.id}/runs`;
  const get = (rest: string, key = ours.viewer) => api(path + rest, { key });
  const all = await get(`?project_id=${project_id}&selects=NAME&selects=RUN_TYPE`);
  expect(await all.json()).toEqual({
    items: [
      { id: roots[1]?.id, name: "trace 1", run_type: "CHAIN" },
      { id: expect.any(String), name: "model", run_type: "LLM" },
    ],
  });
  const filter = encodeURIComponent('eq(run_type, "llm")');
  const some = await get(`?project_id=${project_id}&filter=${filter}&selects=NAME`);
  expect(await some.json()).toMatchObject({ items: [{ name: "model" }] });
  expect((await get(`?project_id=${project_id}`, theirs.admin)).status).toBe(404);
  const lines = await get("");
  expect(lines.headers.get("content-type")).toBe("application/x-ndjson");
  await lines.body?.cancel();
});
