import { beforeAll, expect, test } from "vitest";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, patch, projectId, type WireRun, wireRun } from "./support/runs.ts";

type Line = Record<string, unknown>;

const NOON = Date.parse("2026-05-05T12:00:00Z");
const MIDNIGHT = Date.parse("2026-05-06T00:00:00Z");

let ours: TestWorkspace;
let theirs: TestWorkspace;

beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
});

function open(trace_id: string, cursor?: unknown, key = ours.viewer): Promise<Response> {
  const query = cursor === undefined ? "" : `?cursor=${encodeURIComponent(String(cursor))}`;
  return api(`/api/v2/traces/${trace_id}/runs${query}`, { key });
}

async function read(trace_id: string, cursor?: unknown): Promise<{ runs: Line[]; end: Line }> {
  const response = await open(trace_id, cursor);
  const text = new TextDecoder().decode(await response.arrayBuffer());
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  const lines = text.trimEnd().split("\n");
  const parsed = lines.map((line): Line => JSON.parse(line) as Line);
  const end = parsed.pop() ?? {};
  expect(end).toMatchObject({ run_count: parsed.length, is_truncated: false });
  return { runs: parsed, end };
}

async function ingest(posts: WireRun[], patches: unknown[] = []): Promise<void> {
  expect((await batch(ours.editor, posts, patches)).status).toBe(202);
}

test("a trace has all its runs without payloads, in the order of the tree", async () => {
  const root = wireRun("p", { name: "agent", tags: ["prod"] }, { at: NOON });
  const usage_metadata = { input_tokens: 5, output_tokens: 2, total_cost: 0.01 };
  const fields = {
    name: "model",
    run_type: "llm",
    outputs: { usage_metadata },
    events: [{ name: "new_token", time: NOON + 500 }],
    end_time: NOON + 2000,
    error: "x".repeat(501),
  };
  const later = wireRun("p", { name: "search", run_type: "tool" }, { at: NOON + 20, parent: root });
  const first = wireRun("p", fields, { at: NOON + 10, parent: root });
  const below = wireRun("p", { name: "parse" }, { at: NOON + 900, parent: first });
  await ingest([later, below, first, root]);
  const { runs, end } = await read(root.id);
  expect(runs.map(({ name }) => name)).toEqual(["agent", "model", "parse", "search"]);
  expect(end.project_id).toBe(await projectId(ours.viewer, "p"));
  expect(runs[1]).toEqual({
    id: first.id,
    parent_run_id: root.id,
    dotted_order: first.dotted_order,
    name: "model",
    run_type: "LLM",
    status: "ERROR",
    start_time: first.start_time,
    end_time: "2026-05-05T12:00:02.000000Z",
    first_token_time: "2026-05-05T12:00:00.500000Z",
    error: "x".repeat(500),
    is_error_cut: true,
    total_tokens: 7,
    prompt_tokens: 5,
    completion_tokens: 2,
    total_cost: "0.01",
    prompt_cost: null,
    completion_cost: null,
    tags: [],
  });
  expect(runs[0]).toMatchObject({ tags: ["prod"], status: "PENDING", error: null });
});

test("a trace over midnight is one, in the order of the tree", async () => {
  const root = wireRun("p", { name: "evening" }, { at: MIDNIGHT - 5 });
  const a = wireRun("p", { name: "a" }, { at: MIDNIGHT - 4, parent: root });
  const below = wireRun("p", { name: "a.morning" }, { at: MIDNIGHT + 4, parent: a });
  const b = wireRun("p", { name: "b" }, { at: MIDNIGHT - 3, parent: root });
  await ingest([root, a, b, below]);
  const { runs, end } = await read(root.id);
  expect(runs.map(({ name }) => name)).toEqual(["evening", "a", "a.morning", "b"]);
  await patch(ours.editor, below.id, { end_time: MIDNIGHT + 5 });
  expect((await read(root.id, end.cursor)).runs.map(({ name }) => name)).toEqual(["a.morning"]);
});

test("a cursor returns what is new or changed since, and nothing else", async () => {
  const root = wireRun("p", { name: "root" });
  const child = wireRun("p", { name: "child" }, { parent: root });
  const other = wireRun("p", { name: "other" });
  await ingest([root, child]);
  const first = await read(root.id);
  const nothing = await read(root.id, first.end.cursor);
  expect(nothing.runs).toEqual([]);
  const late = wireRun("p", { name: "late" }, { parent: root });
  await ingest([late, other], [{ id: child.id, outputs: {}, end_time: Date.now() + 1000 }]);
  const { runs, end } = await read(root.id, nothing.end.cursor);
  expect(runs.map(({ name, status }) => [name, status])).toEqual([
    ["child", "SUCCESS"],
    ["late", "PENDING"],
  ]);
  expect((await read(root.id, end.cursor)).runs).toEqual([]);
});

test("a trace whose root has not arrived is read by its id", async () => {
  const root = wireRun("p", { name: "root" });
  const child = wireRun("p", { name: "child" }, { parent: root });
  await ingest([child]);
  const { runs, end } = await read(root.id);
  expect([runs.map(({ name }) => name), end.project_id]).toEqual([["child"], null]);
  await ingest([root]);
  const since = await read(root.id, end.cursor);
  expect(since.runs.map(({ name }) => name)).toEqual(["root"]);
});

test("10,000 runs are one request", async () => {
  const root = wireRun("big", { name: "root" });
  const at = Date.now();
  const runs = Array.from({ length: 9999 }, (_, n) =>
    wireRun("big", { name: `n${n}`, inputs: {}, extra: {} }, { at: at + n, parent: root }),
  );
  await ingest([root, ...runs.slice(5000)]);
  await ingest(runs.slice(0, 5000));
  const { runs: found } = await read(root.id);
  expect(found.map(({ id }) => id)).toEqual([root.id, ...runs.map(({ id }) => id)]);
}, 60_000);

test("refuses other workspaces, unknown traces and cursors of other traces", async () => {
  const [one, two] = [wireRun("p"), wireRun("p")];
  await ingest([one, two]);
  const { cursor } = (await read(one.id)).end;
  expect((await open(one.id, undefined, theirs.admin)).status).toBe(404);
  expect((await open(one.id, cursor, theirs.admin)).status).toBe(404);
  expect((await open(crypto.randomUUID())).status).toBe(404);
  for (const wrong of [cursor, "%", "e30", ""]) {
    const response = await open(two.id, wrong);
    expect([response.status, await response.text()]).toEqual([
      422,
      expect.stringContaining("cursor"),
    ]);
  }
});
