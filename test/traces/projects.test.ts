import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { database } from "../../src/shared/context.ts";
import {
  clearProjectCache,
  projectByName,
  resolveProject,
} from "../../src/traces/catalogue/projects.ts";
import { partitions, projects } from "../../src/traces/catalogue/table.ts";
import {
  consumeProjectDeletion,
  sweepProjectDeletions,
} from "../../src/traces/deletion/project-deletion.ts";
import { toIncoming } from "../../src/traces/ingest/incoming.ts";
import type { ProjectDeletionMessage } from "../../src/traces/messages.ts";
import { tracePartition } from "../../src/traces/object/stub.ts";
import { systemContext } from "../support/deployment.ts";
import { api, type TestWorkspace, workspace } from "../support/workspace.ts";
import { batch, catalogue, projectId, read, type WireRun, wireRun } from "./support/runs.ts";

type Project = {
  id: string;
  tenant_id: string;
  name: string;
  extra: unknown;
  description: unknown;
};

let ours: TestWorkspace;
let theirs: TestWorkspace;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
});

async function created(fields: Record<string, unknown>, key = ours.editor, query = "") {
  const response = await api(`/sessions${query}`, { key, json: fields });
  expect([response.status, response.statusText]).toEqual([200, expect.any(String)]);
  return response.json<Project>();
}

test("a project is created, read, listed by name and changed, under each path", async () => {
  const project = await created({ name: "alpha", extra: { metadata: { a: 1 } } });
  expect(project).toMatchObject({ name: "alpha", tenant_id: ours.workspace_id });
  for (const path of [`/sessions/${project.id}`, `/api/v1/sessions/${project.id}`]) {
    expect(await (await api(path, { key: ours.viewer })).json()).toEqual(project);
  }
  const list = await api("/api/sessions?name=alpha&limit=1", { key: ours.viewer });
  expect(await list.json()).toEqual([project]);
  const response = await api(`/sessions/${project.id}`, {
    key: ours.editor,
    method: "PATCH",
    json: { description: "new" },
  });
  expect(await response.json()).toEqual({ ...project, description: "new" });
});

test("a list is filtered by metadata and dataset, and refuses other filters", async () => {
  const mine = await workspace();
  const dataset = crypto.randomUUID();
  const metadata = { env: "test", of: { team: 1 } };
  await created({ name: "a", extra: { metadata } }, mine.editor);
  await created({ name: "b", reference_dataset_id: dataset }, mine.editor);
  const list = async (query: Record<string, string>) => {
    const path = `/api/v1/sessions?${new URLSearchParams(query)}`;
    const response = await api(path, { key: mine.viewer });
    const text = await response.text();
    if (response.status !== 200) return `${response.status} ${text}`;
    return (JSON.parse(text) as { name: string }[]).map(({ name }) => name);
  };
  expect(await list({ metadata: JSON.stringify({ of: { team: 1 } }) })).toEqual(["a"]);
  expect(await list({ metadata: '{"env":"other"}' })).toEqual([]);
  expect(await list({ reference_dataset: dataset })).toEqual(["b"]);
  expect(await list({ reference_dataset: crypto.randomUUID() })).toEqual([]);
  expect(await list({ reference_free: "true" })).toEqual(["a"]);
  expect(await list({ metadata: "env" })).toMatch(/^422 .*metadata.*JSON text of an object/);
  expect(await list({ tag: "x" })).toMatch(/^422 .*tag/);
});

test("a change with a null name, as the SDKs send it, keeps the name", async () => {
  const { id } = await created({ name: "keeps-its-name" });
  const json = { name: null, description: "new", end_time: null };
  const changed = await api(`/sessions/${id}`, { key: ours.editor, method: "PATCH", json });
  expect(changed.status).toBe(200);
  expect(await changed.json()).toMatchObject({ name: "keeps-its-name", description: "new" });
});

test("times of a project are stored in UTC with microseconds, whatever their zone", async () => {
  const times = { start_time: "2026-11-20T17:00:00+02:00", end_time: "2026-11-20T18:00:00+02:00" };
  const expected = {
    start_time: "2026-11-20T15:00:00.000000Z",
    end_time: "2026-11-20T16:00:00.000000Z",
  };
  const { id } = await created({ name: "zones", ...times });
  const read = await api(`/sessions/${id}`, { key: ours.viewer });
  expect(await read.json()).toMatchObject(expected);
  const again = await created({ name: "zones", ...times }, ours.editor, "?upsert=true");
  expect(again).toMatchObject({ id, ...expected });
  const { start_time } = (await created({ name: "now" })) as unknown as typeof times;
  expect(start_time).toMatch(/\.\d{6}Z$/);
});

test("a name is unique in its workspace; with upsert the project of that name is changed", async () => {
  const project = await created({ name: "beta", description: "one" });
  const again = await api("/sessions", { key: ours.editor, json: { name: "beta" } });
  expect(again.status).toBe(409);
  const upserted = await created({ name: "beta", extra: { x: 1 } }, ours.editor, "?upsert=true");
  expect(upserted).toMatchObject({ id: project.id, description: "one", extra: { x: 1 } });
  const foreign = await created({ name: "beta" }, theirs.editor);
  expect(foreign.id).not.toBe(project.id);
});

test("pages of the list add up to all projects", async () => {
  const ws = await workspace();
  for (const name of ["a", "b", "c"]) await created({ name }, ws.editor);
  const page = async (offset: number) => {
    const response = await api(`/sessions?limit=2&offset=${offset}`, { key: ws.viewer });
    return (await response.json<Project[]>()).map(({ name }) => name);
  };
  expect([await page(0), await page(2)].flat().sort()).toEqual(["a", "b", "c"]);
});

describe("a project", () => {
  test("of another workspace is not found", async () => {
    const { id } = await created({ name: "gamma" });
    for (const call of [
      { method: "GET" },
      { method: "PATCH", json: { name: "mine" } },
      { method: "DELETE" },
    ]) {
      const response = await api(`/sessions/${id}`, { key: theirs.admin, ...call });
      expect(response.status).toBe(404);
    }
    expect(await projectId(theirs.viewer, "gamma")).toBeUndefined();
  });

  test("is not created, changed or deleted without permission", async () => {
    const { id } = await created({ name: "delta" });
    expect((await api("/sessions", { key: ours.viewer, json: { name: "x" } })).status).toBe(403);
    const change = { key: ours.viewer, method: "PATCH", json: { name: "x" } };
    expect((await api(`/sessions/${id}`, change)).status).toBe(403);
    const remove = { key: ours.editor, method: "DELETE" };
    expect((await api(`/sessions/${id}`, remove)).status).toBe(403);
    expect((await api("/sessions", { json: { name: "x" } })).status).toBe(401);
  });

  test.each([
    [{ name: "" }, "name"],
    [{ name: "x", trace_tier: "long" }, "trace_tier"],
  ])("that is %j is refused", async (json, field) => {
    const response = await api("/sessions", { key: ours.editor, json });
    expect(response.status).toBe(422);
    expect(await response.text()).toContain(field);
  });

  test("cannot take the name of another project", async () => {
    const { id } = await created({ name: "one" });
    await created({ name: "two" });
    const response = await api(`/sessions/${id}`, {
      key: ours.editor,
      method: "PATCH",
      json: { name: "two" },
    });
    expect(response.status).toBe(409);
  });

  test("cannot take a name that another project takes at the same time", async () => {
    const made = [await created({ name: "first" }), await created({ name: "second" })];
    const json = { name: "same" };
    const renamed = await Promise.all(
      made.map(({ id }) => api(`/sessions/${id}`, { key: ours.editor, method: "PATCH", json })),
    );
    expect(renamed.map(({ status }) => status).sort()).toEqual([200, 409]);
  });
});

/** Adds the partitions that one step of a deletion deletes. */
async function addPartitions(project_id: string, workspace_id: string) {
  const day = (at: number) => `2026-10-${String(at + 1).padStart(2, "0")}`;
  const updated_at = new Date().toISOString();
  const row = {
    project_id,
    workspace_id,
    slot: 0,
    rows: 0,
    bytes: 0,
    seq: 0,
    roots: 0,
    updated_at,
  };
  for (let at = 0; at < 20; at++) {
    await database(env)
      .insert(partitions)
      .values({ ...row, day: day(at) })
      .onConflictDoUpdate({
        target: [partitions.project_id, partitions.day, partitions.slot],
        set: { closed_at: null },
      });
  }
}

test("a deletion of a project is one chain of messages, which the sweep replaces when it is lost", async () => {
  const ws = await workspace();
  const { id } = await created({ name: "chained" }, ws.editor);
  await api(`/sessions/${id}`, { key: ws.admin, method: "DELETE" });
  const sent_at = "2026-11-20T12:00:00.000Z";
  await database(env).update(projects).set({ sent_at }).where(eq(projects.id, id));
  const send = vi.spyOn(env.DELETIONS, "sendBatch").mockResolvedValue(undefined as never);
  const sent = () => {
    const bodies = send.mock.calls.flatMap(([messages]) => [...messages].map(({ body }) => body));
    send.mockClear();
    return bodies.filter((body) => JSON.stringify(body).includes(id)) as ProjectDeletionMessage[];
  };
  const step = async (message: ProjectDeletionMessage) => {
    await addPartitions(id, ws.workspace_id);
    await consumeProjectDeletion(env, message);
    return sent();
  };
  const first = { type: "project_deletion", project_id: id, sent_at } as const;
  const [second, ...others] = await step(first);
  if (!second) throw new Error("The first step sends no message");
  expect(others).toEqual([]);
  expect(await step(first)).toEqual([]);
  await sweepProjectDeletions(env, new Date());
  expect(sent()).toEqual([]);
  const now = new Date(Date.now() + 60_000);
  await sweepProjectDeletions(env, now);
  const replaced = { ...first, sent_at: now.toISOString() };
  expect(sent()).toEqual([replaced]);
  expect(await step(second)).toEqual([]);
  expect(await step(replaced)).toHaveLength(1);
  send.mockRestore();
});

test("a batch names the runs of a deleted project, stores the others, and creates a named project again", async () => {
  const ws = await workspace();
  await batch(ws.editor, [wireRun("gone"), wireRun("named")]);
  const [gone, named] = [await projectId(ws.viewer, "gone"), await projectId(ws.viewer, "named")];
  // An isolate may have cached the ids while another one deletes the projects.
  clearProjectCache();
  const ctx = systemContext(ws.workspace_id);
  await Promise.all([resolveProject(ctx, gone ?? ""), projectByName(ctx, "named")]);
  for (const id of [gone, named]) {
    const deletion = "UPDATE projects SET deleted_at = '2026-01-01' WHERE id = ?";
    await env.DB.prepare(deletion).bind(id).run();
  }
  const { session_name: _, ...lost } = wireRun("gone", { session_id: gone });
  const [again, other] = [wireRun("named"), wireRun("other")];
  const refused = await batch(ws.editor, [lost, again, other] as WireRun[]);
  expect([refused.status, await refused.text()]).toEqual([
    422,
    expect.stringMatching(`${lost.id}.*Project`),
  ]);
  expect((await read(ws.viewer, other.id)).name).toBe("step");
  const { session_id } = await read(ws.viewer, again.id);
  expect(session_id).toBe(await projectId(ws.viewer, "named"));
  expect(session_id).not.toBe(named);
});

test("a deleted project disappears at once, and its data in repeatable steps", async () => {
  const ws = await workspace();
  const big = "x".repeat(1_000_000);
  const run = wireRun("doomed", { outputs: { big } });
  expect((await batch(ws.editor, [run])).status).toBe(202);
  const id = (await projectId(ws.viewer, "doomed")) ?? "";
  expect(await read(ws.viewer, run.id)).toMatchObject({ outputs: { big } });
  const objects = async () => (await env.ARTIFACTS.list({ prefix: `runs/${id}/` })).objects.length;
  expect(await objects()).toBe(1);

  const response = await api(`/sessions/${id}`, { key: ws.admin, method: "DELETE" });
  expect(response.status).toBe(202);
  expect((await api(`/sessions/${id}`, { key: ws.viewer })).status).toBe(404);
  expect((await api(`/runs/${run.id}`, { key: ws.viewer })).status).toBe(404);
  await consumeProjectDeletion(env, { project_id: id });
  await consumeProjectDeletion(env, { project_id: id });
  expect(await objects()).toBe(0);
  const [partition] = (await catalogue(id)).results;
  if (!partition) throw new Error("The row of a partition must stay until the last writes");
  expect(partition).toMatchObject({ rows: 0, bytes: 0, payload_bytes: 0 });

  const row = () => env.DB.prepare("SELECT * FROM projects WHERE id = ?").bind(id).first();
  expect(await row()).not.toBeNull();
  const key = { project_id: id, day: partition.day, slot: partition.slot };
  const { session_name: _, ...change } = toIncoming(run, "post", []);
  await tracePartition(env, key).ingest(key, [change], false);
  expect(await tracePartition(env, key).hasRuns([run.id])).toEqual([run.id]);
  expect(await runDurableObjectAlarm(env.PARTITIONS.getByName(Object.values(key).join("/")))).toBe(
    true,
  );
  expect((await catalogue(id)).results).toMatchObject([{ rows: 1 }]);
  await env.DB.prepare("UPDATE projects SET deleted_at = ? WHERE id = ?")
    .bind(new Date(Date.now() - 120_000).toISOString(), id)
    .run();
  await sweepProjectDeletions(env, new Date(Date.now() + 60_000));
  await consumeProjectDeletion(env, { project_id: id });
  expect([await row(), (await catalogue(id)).results]).toEqual([null, []]);
  expect(await tracePartition(env, key).hasRuns([run.id])).toEqual([]);
  expect((await batch(ws.editor, [run])).status).toBe(202);
  expect(await projectId(ws.viewer, "doomed")).not.toBe(id);
});
