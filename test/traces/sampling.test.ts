import { beforeEach, expect, test } from "vitest";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { hexId, JSON_TYPE, sendSpans, type TestSpan, toJson } from "./support/otlp.ts";
import { batch, patch, type ReadRun, type WireRun, wireRun } from "./support/runs.ts";

const PROJECT = "sampled";
/** Times of runs, after the rate was set. */
const LATER_MS = 1000;

let ours: TestWorkspace;
beforeEach(async () => {
  ours = await workspace();
});

type Project = { id: string; sampling_rate: number | null };

async function projectWith(sampling_rate: number): Promise<Project> {
  const json = { name: PROJECT, sampling_rate };
  return (await api("/sessions", { key: ours.editor, json })).json<Project>();
}

function setRate(project: Project, sampling_rate: unknown): Promise<Response> {
  const json = { sampling_rate };
  return api(`/sessions/${project.id}`, { key: ours.editor, method: "PATCH", json });
}

async function storedRuns({ id }: Project): Promise<ReadRun[]> {
  const json = { session: [id], limit: 100, select: ["id", "trace_id", "end_time"] };
  const found: ReadRun[] = [];
  for (let cursor: string | null = null; ; ) {
    const body = cursor === null ? json : { ...json, cursor };
    const response = await api("/runs/query", { key: ours.viewer, json: body });
    const page = await response.json<{ runs: ReadRun[]; cursors: { next: string | null } }>();
    found.push(...page.runs);
    cursor = page.cursors.next;
    if (cursor === null) return found;
  }
}

const later = () => Date.now() + LATER_MS;
const ended = ({ id, trace_id, dotted_order }: WireRun) => ({
  ...{ id, trace_id, dotted_order, end_time: new Date(later() + 1).toISOString() },
});

test("a trace is stored whole or not at all, however its runs are split over requests", async () => {
  const project = await projectWith(0.5);
  const roots = Array.from({ length: 200 }, () => wireRun(PROJECT, {}, { at: later() }));
  const children = roots.map((parent) => wireRun(PROJECT, {}, { at: later(), parent }));
  for (const runs of [children, roots]) {
    expect((await batch(ours.editor, runs)).status).toBe(202);
  }
  expect((await batch(ours.editor, [], [...roots, ...children].map(ended))).status).toBe(202);
  const traces = Map.groupBy(await storedRuns(project), ({ trace_id }) => trace_id);
  expect(traces.size).toBeGreaterThan(60);
  expect(traces.size).toBeLessThan(140);
  for (const runs of traces.values()) {
    expect(runs.map(({ end_time }) => typeof end_time)).toEqual(["string", "string"]);
  }
});

test("a change that does not name its trace reaches each stored run", async () => {
  const project = await projectWith(0.5);
  const roots = Array.from({ length: 60 }, () => wireRun(PROJECT, {}, { at: later() }));
  const children = roots.map((parent) => wireRun(PROJECT, {}, { at: later(), parent }));
  expect((await batch(ours.editor, [...roots, ...children])).status).toBe(202);
  const ids = (await storedRuns(project)).map(({ id }) => id);
  const stored = children.filter(({ id }) => ids.includes(id));
  expect(stored.length).toBeGreaterThan(5);
  for (const { id } of stored) {
    const json = { end_time: new Date(later() + 1).toISOString() };
    expect((await patch(ours.editor, id, json)).status).toBe(202);
  }
  const ends = (await storedRuns(project)).filter(({ end_time }) => end_time !== null);
  expect(ends.map(({ id }) => id).sort()).toEqual(stored.map(({ id }) => id).sort());
});

test("a trace that began before the rate was set stays whole", async () => {
  const project = await projectWith(1);
  const before = wireRun(PROJECT, {}, { at: Date.now() - 60_000 });
  await batch(ours.editor, [before]);
  expect(await (await setRate(project, 0)).json()).toMatchObject({ sampling_rate: 0 });
  const child = wireRun(PROJECT, {}, { at: later(), parent: before });
  const other = wireRun(PROJECT, {}, { at: later() });
  await batch(ours.editor, [child, other], [ended(before)]);
  const stored = await storedRuns(project);
  expect(stored.map(({ id }) => id).sort()).toEqual([before.id, child.id].sort());
  expect(stored.find(({ id }) => id === before.id)?.end_time).not.toBeNull();
});

test("the same rate again stores nothing of a trace that it has left out", async () => {
  const project = await projectWith(0);
  const root = wireRun(PROJECT, {}, { at: Date.now() + 5 });
  expect((await batch(ours.editor, [root])).status).toBe(202);
  expect((await setRate(project, 0)).status).toBe(200);
  await batch(ours.editor, [], [ended(root)]);
  expect(await storedRuns(project)).toEqual([]);
});

test("a rate of 0 stores no spans either, and null stores all again", async () => {
  const project = await projectWith(0);
  const trace = hexId(16);
  const start_ms = later();
  const spans: TestSpan[] = [{ trace, id: hexId(8), name: "agent", start_ms }];
  const send = () =>
    sendSpans(toJson(spans), { key: ours.editor, type: JSON_TYPE, project: PROJECT });
  expect((await send()).status).toBe(200);
  expect(await storedRuns(project)).toEqual([]);
  expect(await (await setRate(project, null)).json()).toMatchObject({ sampling_rate: null });
  expect((await send()).status).toBe(200);
  expect(await storedRuns(project)).toHaveLength(1);
});

test.each([1.1, -0.1, "0.5"])("a rate of %j is refused by its name", async (rate) => {
  const project = await projectWith(0.25);
  const refused = await setRate(project, rate);
  expect([refused.status, await refused.text()]).toEqual([
    422,
    expect.stringContaining("sampling_rate"),
  ]);
  const read = await api(`/sessions/${project.id}`, { key: ours.viewer });
  expect(await read.json()).toMatchObject({ sampling_rate: 0.25 });
});
