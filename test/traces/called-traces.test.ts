import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { TracePartition } from "../../src/traces/object/object.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { hexId, sendSpans, type TestSpan, toProtobuf } from "./support/otlp.ts";
import { batch, idAt, type ReadRun, type WireRun, wireRun } from "./support/runs.ts";

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
