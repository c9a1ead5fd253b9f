import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { sha256Hex } from "../../src/shared/crypto/crypto.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { locationsOf } from "./support/locations.ts";
import { batch, catalogue, idAt, projectId, read, type WireRun, wireRun } from "./support/runs.ts";

let ours: TestWorkspace;
let theirs: TestWorkspace;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
});

const MIDNIGHT = Date.parse("2026-03-02T00:00:00Z");

function remove(json: unknown, key = ours.admin) {
  return api("/runs/delete", { key, json });
}

async function status(run: WireRun) {
  return (await api(`/runs/${run.id}`, { key: ours.viewer })).status;
}

async function locations(project_id: string) {
  const all = await locationsOf(ours.workspace_id);
  return all.filter((one) => one.project_id === project_id).length;
}

async function objects(project_id: string) {
  return (await env.ARTIFACTS.list({ prefix: `runs/${project_id}/` })).objects.length;
}

test("deleting traces removes their runs of all days, feedback, files and locations, and no others", async () => {
  const big = "x".repeat(1_000_000);
  const root = wireRun("purged", { outputs: { big } }, { at: MIDNIGHT - 5 });
  const old = wireRun("purged", { id: crypto.randomUUID() }, { at: MIDNIGHT + 5, parent: root });
  const kept = wireRun("purged", { inputs: { big } }, { at: MIDNIGHT + 6 });
  await batch(ours.editor, [root, old, kept]);
  const id = (await projectId(ours.viewer, "purged")) ?? "";
  const feedback = { key: ours.editor, json: { run_id: old.id, key: "k", score: 1 } };
  const created = await (await api("/feedback", feedback)).json<{ id: string }>();
  expect([await objects(id), await locations(id)]).toEqual([2, 2]);

  const json = { session_id: id, trace_ids: [root.trace_id] };
  const response = await remove(json);
  expect([response.status, await response.json()]).toEqual([200, { message: "2 runs deleted." }]);
  expect([await status(root), await status(old), await status(kept)]).toEqual([404, 404, 200]);
  expect((await api(`/feedback/${created.id}`, { key: ours.viewer })).status).toBe(404);
  for (const day of ["2026-03-01", "2026-03-02"]) {
    const stub = env.PARTITIONS.getByName(`${id}/${day}/0`);
    await evictDurableObject(stub);
    await runDurableObjectAlarm(stub);
  }
  expect([await objects(id), await locations(id)]).toEqual([1, 0]);
  expect((await catalogue(id)).results).toEqual([
    expect.objectContaining({ day: "2026-03-01", rows: 0, min_start_us: null }),
    expect.objectContaining({ day: "2026-03-02", rows: 1 }),
  ]);
  expect(await (await remove(json)).json()).toEqual({ message: "0 runs deleted." });

  const next = wireRun("purged", {}, { at: MIDNIGHT + 7 });
  await batch(ours.editor, [next]);
  expect([await status(next), await status(kept)]).toEqual([200, 200]);
  expect(await read(ours.viewer, kept.id)).toMatchObject({ inputs: { big } });
});

test("deleting a trace removes a run whose clock was behind that of its root at midnight", async () => {
  const root = wireRun("behind", {}, { at: MIDNIGHT + 50 });
  const child = wireRun("behind", {}, { at: MIDNIGHT - 50, parent: root });
  await batch(ours.editor, [root, child]);
  const json = {
    session_id: await projectId(ours.viewer, "behind"),
    trace_ids: [root.trace_id],
  };
  expect(await (await remove(json)).json()).toEqual({ message: "2 runs deleted." });
  expect([await status(root), await status(child)]).toEqual([404, 404]);
});

test("deleting a trace removes replaced payloads", async () => {
  const run = wireRun("replaced", { outputs: { big: "x".repeat(1_000_000) } }, { at: MIDNIGHT });
  await batch(ours.editor, [run]);
  await batch(ours.editor, [], [{ id: run.id, outputs: { small: 1 } }]);
  const id = (await projectId(ours.viewer, "replaced")) ?? "";
  expect([await objects(id), await read(ours.viewer, run.id)]).toMatchObject([
    1,
    { outputs: { small: 1 } },
  ]);
  await remove({ session_id: id, run_ids: [run.trace_id] });
  await runDurableObjectAlarm(env.PARTITIONS.getByName(`${id}/2026-03-02/0`));
  expect(await objects(id)).toBe(0);
});

test("deleting a trace removes payloads of a late POST that its PATCH had replaced", async () => {
  const run = wireRun("outrun", { outputs: { big: "x".repeat(1_000_000) } }, { at: MIDNIGHT });
  const { trace_id, dotted_order } = run;
  const end = { id: run.id, trace_id, dotted_order, session_name: "outrun", outputs: { small: 1 } };
  await batch(ours.editor, [], [end]);
  await batch(ours.editor, [run]);
  const id = (await projectId(ours.viewer, "outrun")) ?? "";
  expect([await objects(id), await read(ours.viewer, run.id)]).toMatchObject([
    1,
    { outputs: { small: 1 } },
  ]);
  const partition = env.PARTITIONS.getByName(`${id}/2026-03-02/0`);
  await runDurableObjectAlarm(partition);
  const [{ payload_bytes } = {}] = (await catalogue(id)).results as { payload_bytes?: number }[];
  expect(payload_bytes).toBeGreaterThan(1_000_000);
  await remove({ session_id: id, trace_ids: [run.trace_id] });
  await runDurableObjectAlarm(partition);
  expect(await objects(id)).toBe(0);
});

test("a run created again during its deletion keeps its new data", async () => {
  const run = wireRun("again", { outputs: { big: "x".repeat(1_000_000) } }, { at: MIDNIGHT });
  await batch(ours.editor, [run]);
  const id = (await projectId(ours.viewer, "again")) ?? "";
  await remove({ session_id: id, trace_ids: [run.trace_id] });
  await batch(ours.editor, [run]);
  await runDurableObjectAlarm(env.PARTITIONS.getByName(`${id}/2026-03-02/0`));
  expect(await read(ours.viewer, run.id)).toMatchObject({ outputs: run.outputs });
});

test("what a run had before its deletion is deleted when a late change creates it again", async () => {
  const run = wireRun("late", { inputs: { big: "i".repeat(1_000_000) } }, { at: MIDNIGHT });
  await batch(ours.editor, [run]);
  const id = (await projectId(ours.viewer, "late")) ?? "";
  await remove({ session_id: id, trace_ids: [run.trace_id] });
  const outputs = { big: "o".repeat(1_000_000) };
  const { trace_id, dotted_order } = run;
  const late = { id: run.id, session_name: "late", trace_id, dotted_order, outputs };
  await batch(ours.editor, [], [late]);
  await runDurableObjectAlarm(env.PARTITIONS.getByName(`${id}/2026-03-02/0`));
  expect(await read(ours.viewer, run.id)).toMatchObject({ outputs });
  expect(await objects(id)).toBe(1);
});

test("deletes traces by metadata, in one project or in all", async () => {
  const tagged = (project: string, user_id: string) => {
    const root = wireRun(project, { extra: {} }, { at: MIDNIGHT });
    const fields = { extra: { metadata: { user_id } } };
    return [root, wireRun(project, fields, { at: MIDNIGHT + 1, parent: root })];
  };
  const [a, b, c] = [tagged("meta", "x"), tagged("meta", "y"), tagged("meta2", "x")];
  await batch(ours.editor, [a, b, c].flat());
  await batch(theirs.editor, tagged("meta", "x"));
  const alive = () => Promise.all([a, b, c].map(([root]) => status(root as WireRun)));
  const id = await projectId(ours.viewer, "meta");
  const metadata = { user_id: ["x", "z"] };
  expect(await (await remove({ session_id: id, metadata })).json()).toEqual({
    message: "2 runs deleted.",
  });
  expect(await alive()).toEqual([404, 200, 200]);
  expect(await (await remove({ metadata })).json()).toEqual({ message: "2 runs deleted." });
  expect(await alive()).toEqual([404, 200, 404]);
  expect(await (await remove({ metadata }, theirs.admin)).json()).toEqual({
    message: "2 runs deleted.",
  });
});

test("the audit log proves a deletion by ids, by a thread and by a person, whom it does not name", async () => {
  const [person, thread_id] = [`${crypto.randomUUID()}@example.com`, crypto.randomUUID()];
  const metadata = { user_id: person, thread_id };
  const of = (fields: object) =>
    wireRun("proven", { extra: { metadata: fields } }, { at: MIDNIGHT });
  const [theirRun, threadRun, other] = [of({ user_id: person }), of({ thread_id }), of({})];
  await batch(ours.editor, [theirRun, threadRun, other]);
  const session_id = (await projectId(ours.viewer, "proven")) ?? "";
  expect((await remove({ metadata })).status).toBe(200);
  expect((await remove({ session_id, trace_ids: [other.trace_id] })).status).toBe(200);
  const log = await api("/v1/audit-logs?action=deleteTraces&limit=2", { key: ours.admin });
  const text = await log.text();
  expect(text).not.toContain(person);
  const entry = (...resources: [string, string][]) =>
    expect.objectContaining({ resources: resources.map(([name, id]) => ({ name, id })) });
  expect(JSON.parse(text).resources).toEqual([
    entry(["deleted_runs", "1"], ["session_id", session_id], ["trace_id", other.trace_id]),
    entry(
      ["deleted_runs", "2"],
      ["metadata.user_id", `sha256:${sha256Hex(person)}`],
      ["metadata.thread_id", thread_id],
    ),
  ]);
});

describe("trace deletion rejects", () => {
  const some = { session_id: idAt(1), trace_ids: [idAt(1)] };
  test.each([
    [{}, "trace_ids"],
    [{ trace_ids: [idAt(1)] }, "session_id"],
    [{ ...some, trace_ids: [] }, "trace_ids"],
    [{ ...some, trace_ids: ["x"] }, "trace_ids"],
    [{ ...some, trace_ids: Array.from({ length: 1001 }, () => idAt(1)) }, "trace_ids"],
    [{ trace_ids: [idAt(1)], metadata: { a: "b" } }, "session_id"],
    [{ metadata: { a: "x".repeat(250) } }, "metadata"],
  ])("that is %#", async (json, field) => {
    const response = await remove(json);
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining(field)]);
  });

  test("callers without permission and projects of other workspaces", async () => {
    const run = wireRun("guarded");
    await batch(ours.editor, [run]);
    const json = { session_id: await projectId(ours.viewer, "guarded"), trace_ids: [run.id] };
    expect((await remove(json, ours.editor)).status).toBe(403);
    expect((await remove(json, theirs.admin)).status).toBe(404);
    expect((await api("/runs/delete", { json })).status).toBe(401);
    expect(await status(run)).toBe(200);
  });
});
