import { env } from "cloudflare:workers";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { pageChars } from "../../src/traces/live/span-merge.ts";
import { placeCalled } from "../../src/traces/live/trace-listings.ts";
import { mayHave } from "../../src/traces/locations/generations.ts";
import { TracePartition } from "../../src/traces/object/object.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { hexId, sendSpans, type TestSpan, toProtobuf } from "./support/otlp.ts";
import { batch, idAt, projectId, type ReadRun, type WireRun, wireRun } from "./support/runs.ts";

type Line = Record<string, unknown>;

const NOON = Date.parse("2026-05-05T12:00:00Z");
const MIDNIGHT = Date.parse("2026-05-06T00:00:00Z");
const PROJECT = "agent";

let ours: TestWorkspace;
beforeAll(async () => {
  ours = await workspace();
});

/** Program whose second span calls an agent. The trace has the id of OpenTelemetry's as UUID. */
function program(at = NOON) {
  const trace = hexId(16);
  const root: TestSpan = { trace, id: hexId(8), name: "program", start_ms: at, end_ms: at + 900 };
  const call = { ...root, id: hexId(8), parent: root.id, name: "call", start_ms: at + 1 };
  const trace_id = trace.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  return { trace, trace_id, root, call };
}

function agentRun({ trace, id }: TestSpan, at: number, session_name = PROJECT): WireRun {
  const metadata = { otel_trace_id: trace, otel_parent_span_id: id };
  return wireRun(session_name, { id: idAt(at), name: "run", extra: { metadata } }, { at });
}

async function send(spans: TestSpan[], project = PROJECT): Promise<void> {
  const response = await sendSpans(toProtobuf(spans), { key: ours.editor, project });
  expect(response.status).toBe(200);
}

async function ingest(...posts: WireRun[]): Promise<void> {
  expect((await batch(ours.editor, posts)).status).toBe(202);
}

async function read(trace_id: string, cursor = ""): Promise<{ runs: Line[]; end: Line }> {
  const query = cursor && `?cursor=${encodeURIComponent(cursor)}`;
  const response = await api(`/api/v2/traces/${trace_id}/runs${query}`, { key: ours.viewer });
  expect(response.status).toBe(200);
  const runs = (await response.text())
    .trimEnd()
    .split("\n")
    .map((line): Line => JSON.parse(line));
  const end = runs.pop() ?? {};
  return { runs, end };
}

async function query(json: object): Promise<ReadRun[]> {
  const response = await api("/runs/query", { key: ours.viewer, json: { order: "asc", ...json } });
  expect(response.status).toBe(200);
  return (await response.json<{ runs: ReadRun[] }>()).runs;
}

/** Returns each run's name with that of its parent. */
function parents(runs: Line[]): string[] {
  const names = new Map(runs.map(({ id, name }) => [id, name]));
  return runs.map(({ name, parent_run_id }) => `${name} < ${names.get(parent_run_id) ?? null}`);
}

const WHOLE = ["program < null", "call < program", "run < call", "node < run"];

test("the runs of an agent are below the span that called it, whichever arrives first", async () => {
  const { trace_id, root, call } = program();
  const run = agentRun(call, NOON + 2);
  await ingest(run, wireRun(PROJECT, { name: "node" }, { at: NOON + 3, parent: run }));
  expect((await api(`/api/v2/traces/${trace_id}/runs`, { key: ours.viewer })).status).toBe(404);
  await send([call]);
  await send([root]);
  const { runs, end } = await read(trace_id);
  expect(parents(runs)).toEqual(WHOLE);
  expect(runs.map(({ dotted_order }) => dotted_order)).toEqual(
    runs.map(({ dotted_order }) => String(dotted_order)).toSorted(),
  );
  expect(end).toMatchObject({ run_count: 4, is_truncated: false });

  const late = wireRun(PROJECT, { name: "tool" }, { at: NOON + 4, parent: run });
  await ingest(late);
  const changes = await read(trace_id, String(end.cursor));
  expect(changes.runs).toMatchObject([{ name: "tool", parent_run_id: run.id }]);
  const second = agentRun(call, NOON + 5);
  await ingest({ ...second, name: "again" });
  const { runs: added } = await read(trace_id, String(changes.end.cursor));
  expect(added.map(({ name }) => name)).toEqual(["again"]);
});

test("a cursor keeps a span that is stored between two listings of its partition", async () => {
  const { trace_id, trace, root } = program(MIDNIGHT - 500);
  const run = agentRun(root, MIDNIGHT - 400);
  const tool = wireRun(PROJECT, { name: "tool" }, { at: MIDNIGHT + 10, parent: run });
  await send([root]);
  await ingest(run, tool);
  const late = { trace, id: hexId(8), parent: root.id, name: "late", start_ms: MIDNIGHT + 20 };
  const { findParents } = TracePartition.prototype;
  const find = vi.spyOn(TracePartition.prototype, "findParents");
  onTestFinished(() => find.mockRestore());
  // Parents are found after the trace itself is listed, and before its called traces are.
  find.mockImplementationOnce(async function (this: TracePartition, names) {
    await send([late]);
    return findParents.call(this, names);
  });
  const first = await read(trace_id);
  expect(first.runs.map(({ name }) => name)).toEqual(["program", "run", "tool"]);
  const { runs } = await read(trace_id, String(first.end.cursor));
  expect(runs.map(({ name }) => name)).toContain("late");
});

/** Slots of five generations. */
const SLOTS = Array.from({ length: 31 }, (_, slot) => slot);
const DAYS = ["2026-05-04", "2026-05-05", "2026-05-06"];

/** Adds rows of the catalogue, as a project with many runs has them. */
async function addSlots(project: string): Promise<void> {
  const project_id = await projectId(ours.viewer, project);
  await env.DB.prepare(
    `INSERT OR IGNORE INTO partitions
       (project_id, day, slot, workspace_id, rows, bytes, seq, roots, updated_at)
     SELECT ?, days.value, slots.value, ?, 0, 0, 0, 0, ''
     FROM json_each(?) AS days, json_each(?) AS slots`,
  )
    .bind(project_id, ours.workspace_id, JSON.stringify(DAYS), JSON.stringify(SLOTS))
    .run();
}

test("a called trace is listed in slots that can have it, from the day before its root", async () => {
  const { trace_id, root } = program(MIDNIGHT - 500);
  const called = [agentRun(root, MIDNIGHT - 400, "wide"), agentRun(root, MIDNIGHT + 10, "wide")];
  await send([root], "wide");
  await ingest(...called);
  await addSlots("wide");
  const list = vi.spyOn(TracePartition.prototype, "listTrace");
  onTestFinished(() => list.mockRestore());
  const { runs, end } = await read(trace_id);
  expect(parents(runs)).toEqual(["program < null", "run < program", "run < program"]);
  expect(end.is_truncated).toBe(false);
  const listings = (id: string) => list.mock.calls.filter(([of]) => of === id).length;
  const slots = (id: string) => SLOTS.filter((slot) => mayHave(slot, id)).length;
  expect(listings(trace_id)).toBe(DAYS.length * SLOTS.length);
  expect(called.map(({ id }) => listings(id))).toEqual(
    called.map(({ id }, n) => (DAYS.length - n) * slots(id)),
  );
});

test("called traces with too many listings are left out whole", () => {
  const parent = { id: idAt(NOON), trace_id: idAt(NOON), dotted_order: "" };
  const called = DAYS.map((day) => ({ trace_id: idAt(NOON), day, parent }));
  const keys = DAYS.map((day) => ({ project_id: "p", day, slot: 0 }));
  const listings = (max: number) =>
    placeCalled(called, keys, max).map(({ partitions }) => partitions.length);
  expect([8, 7, 2].map(listings)).toEqual([[3, 3, 2], [3, 3], []]);
});

test("pages of many called traces are merged in order, and smaller than those of few", async () => {
  const { trace_id, root, call } = program();
  const called = Array.from({ length: 12 }, (_, n) => agentRun(call, NOON + 10 * n, "many"));
  const nodes = called.flatMap((parent, n) =>
    [1, 2, 3].map((ms) => wireRun("many", {}, { at: NOON + 10 * n + ms, parent })),
  );
  await send([root, call], "many");
  await ingest(...nodes.toReversed(), ...called.toReversed());
  const { readSpans } = TracePartition.prototype;
  const spans = vi.spyOn(TracePartition.prototype, "readSpans");
  onTestFinished(() => spans.mockRestore());
  spans.mockImplementation(async function (this: TracePartition, ids) {
    const page = await readSpans.call(this, ids, 500);
    expect(page.read).toBeLessThanOrEqual(2);
    return page;
  });
  const { runs } = await read(trace_id);
  const ids = runs.map(({ id }) => id);
  expect(ids.slice(2)).toEqual([...called, ...nodes].map(({ id }) => id).toSorted());
  expect(new Set(spans.mock.calls.map(([, max]) => max))).toEqual(new Set([pageChars(13)]));
});

test("the pages of all listings together have at most 8 million characters", () => {
  expect([1, 8, 100, 400].map((n) => n * pageChars(n))).toEqual([1e6, 8e6, 8e6, 8e6]);
  expect([13, 77, 333].filter((n) => n * pageChars(n) > 8e6)).toEqual([]);
});

test("a query of the trace has the agent's runs, and its root alone is one", async () => {
  const { trace_id, root, call } = program();
  const run = agentRun(call, NOON + 2);
  await send([root, call]);
  await ingest(run, wireRun(PROJECT, { name: "node" }, { at: NOON + 3, parent: run }));
  const runs = await query({ trace: trace_id });
  expect(parents(runs)).toEqual(WHOLE);
  expect(new Set(runs.map((one) => one.trace_id))).toEqual(new Set([trace_id]));
  const above = runs.map(({ id }) => id).slice(0, 3);
  expect(runs[3]).toMatchObject({ is_root: false, parent_run_ids: above });
  expect((await query({ trace: trace_id, is_root: true })).map(({ id }) => id)).toEqual([trace_id]);
  expect(parents(await query({ trace: run.trace_id }))).toEqual(["run < null", "node < run"]);
});

test("a link to the trace has the agent's runs in its list, and each by its id", async () => {
  const { trace_id, root, call } = program();
  const run = agentRun(call, NOON + 2);
  await send([root, call]);
  await ingest(run, wireRun(PROJECT, {}, { at: NOON + 4 }));
  const made = await api(`/runs/${trace_id}/share`, { key: ours.editor, method: "PUT" });
  const { share_token } = await made.json<{ share_token: string }>();
  const shared = (json: object) => api(`/public/${share_token}/runs/query`, { json });
  const { runs: listed } = await (await shared({})).json<{ runs: ReadRun[] }>();
  expect(parents(listed)).toEqual(["program < null", "call < program", "run < call"]);
  const { runs: named } = await (await shared({ id: [run.id] })).json<{ runs: ReadRun[] }>();
  expect(named).toEqual(listed.slice(2));
  const one = await api(`/public/${share_token}/run/${run.id}`);
  expect(await one.json()).toEqual(listed[2]);
});

test("a call on the next day and from the root itself are below the trace", async () => {
  const { trace_id, root } = program(MIDNIGHT - 500);
  await send([root]);
  await ingest(agentRun(root, MIDNIGHT + 10));
  expect(parents((await read(trace_id)).runs)).toEqual(["program < null", "run < program"]);
});

test("a run of another project, or whose calling span is unknown, stays apart", async () => {
  const { trace_id, root, call } = program();
  await send([root]);
  await ingest(agentRun(call, NOON + 2), agentRun(root, NOON + 2, "elsewhere"));
  expect(parents((await read(trace_id)).runs)).toEqual(["program < null"]);
  expect(parents(await query({ trace: trace_id }))).toEqual(["program < null"]);
});
