import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test } from "vitest";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, patch, projectId, wireRun } from "./support/runs.ts";

type Changes = { items: Record<string, unknown>[]; has_more: boolean; next_cursor: string };

const OLD = Date.parse("2026-05-05T12:00:00Z");
const HOUR = 3_600_000;

let ours: TestWorkspace;
let project_id: string;
let cursor: string | null;

beforeEach(async () => {
  ours = await workspace();
  await ingest(wireRun("live", { name: "before" }), wireRun("live", { name: "old" }, { at: OLD }));
  project_id = (await projectId(ours.viewer, "live")) ?? "";
  cursor = (await list({})).next_cursor;
});

function post(json: Record<string, unknown>, key = ours.viewer): Promise<Response> {
  return api("/api/v2/runs/changes", { key, json: { project_id, selects: ["NAME"], ...json } });
}

async function list(json: Record<string, unknown>): Promise<Changes> {
  const response = await post(json);
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  return JSON.parse(text) as Changes;
}

/** Reads all pages since the last call. */
async function changed(json: Record<string, unknown> = {}): Promise<unknown[]> {
  const names: unknown[] = [];
  for (let has_more = true; has_more; ) {
    const page = await list({ ...json, cursor });
    names.push(...page.items.map(({ name }) => name));
    ({ has_more, next_cursor: cursor } = page);
  }
  return names;
}

async function ingest(...runs: unknown[]): Promise<void> {
  expect((await batch(ours.editor, runs)).status).toBe(202);
}

/** Writes the counts of a day to the catalogue, as its alarm does after a second. */
async function flush(day: string): Promise<void> {
  await runDurableObjectAlarm(env.PARTITIONS.getByName(`${project_id}/${day}/0`));
}

test("a request without a cursor has no runs; the next one has new and changed runs", async () => {
  expect(await list({})).toMatchObject({ items: [], has_more: false });
  expect(await changed()).toEqual([]);
  const [one, two] = [wireRun("live", { name: "one" }), wireRun("live", { name: "two" })];
  await ingest(one, two);
  expect(await changed()).toEqual(["one", "two"]);
  expect(await changed()).toEqual([]);
  await patch(ours.editor, one.id, { end_time: Date.now() });
  expect(await changed({ selects: ["NAME", "STATUS"] })).toEqual(["one"]);
});

test("pages of one run miss none and repeat none, also within one batch and between days", async () => {
  const runs = Array.from({ length: 5 }, (_, n) => wireRun("live", { name: `n${n}` }));
  const days = [0, 1].map((n) => wireRun("live", { name: `day${n}` }, { at: OLD + n * HOUR }));
  await ingest(...runs, ...days);
  await flush("2026-05-05");
  expect((await changed({ page_size: 1 })).sort()).toEqual(
    ["day0", "day1", "n0", "n1", "n2", "n3", "n4"].sort(),
  );
  expect(await changed({ page_size: 1 })).toEqual([]);
});

test("a run that is changed between pages is listed with its latest state, once", async () => {
  const [one, two] = [wireRun("live", { name: "one" }), wireRun("live", { name: "two" })];
  await ingest(one, two);
  const page = await list({ cursor, page_size: 1 });
  expect([page.items.map(({ name }) => name), page.has_more]).toEqual([["one"], true]);
  await patch(ours.editor, two.id, { name: "renamed", end_time: Date.now() });
  const rest = await list({ cursor: page.next_cursor, page_size: 10 });
  expect([rest.items.map(({ name }) => name), rest.has_more]).toEqual([["renamed"], false]);
});

test("changes on old and new days are found, and a long pause misses nothing", async () => {
  const first = cursor;
  const late = wireRun("live", { name: "late" }, { at: Date.parse("2026-03-03T12:00:00Z") });
  await ingest(late);
  await flush("2026-03-03");
  expect(await changed()).toEqual(["late"]);
  await patch(ours.editor, late.id, { end_time: OLD });
  expect(await changed()).toEqual(["late"]);
  cursor = first;
  expect(await changed()).toEqual(["late"]);
});

test("filters apply to the latest state", async () => {
  const root = wireRun("live", { name: "root" });
  const child = wireRun("live", { name: "child", run_type: "llm" }, { parent: root });
  await ingest(root, child);
  const before = cursor;
  expect(await changed({ is_root: true })).toEqual(["root"]);
  cursor = before;
  expect(await changed({ run_type: "LLM" })).toEqual(["child"]);
  cursor = before;
  await patch(ours.editor, child.id, { error: "broke", end_time: Date.now() });
  expect(await changed({ filter: 'eq(status, "error")' })).toEqual(["child"]);
});

test("refuses other workspaces, wrong cursors and filters", async () => {
  const theirs = await workspace();
  expect((await post({}, theirs.admin)).status).toBe(404);
  expect((await post({ cursor }, theirs.admin)).status).toBe(404);
  await ingest(wireRun("other"));
  const other = await projectId(ours.viewer, "other");
  for (const wrong of [{ cursor: "e30" }, { project_id: other, cursor }, { filter: "eq(" }]) {
    const response = await post(wrong);
    expect([response.status, await response.text()]).toEqual([
      422,
      expect.stringMatching(/cursor|filter/),
    ]);
  }
});
