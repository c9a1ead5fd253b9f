import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { DirectoryObject } from "../../../src/agent-server/threads/directory/object.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { batch, idAt, projectId, wireRun } from "../../traces/support/runs.ts";

/** Twice as many as the platform repeats. */
const FAILURES = 12;
const TTL_MINUTES = 0.001;
const MAX_PAUSE_MS = 15 * 60 * 1000;

let ours: TestWorkspace;
let deployment_id: string;
beforeAll(async () => {
  ours = await workspace();
});
beforeEach(async () => {
  deployment_id = (await testDeployment(ours.workspace_id)).deployment_id;
});
afterEach(() => void vi.restoreAllMocks());

async function send<T>(method: string, path: string, json?: unknown): Promise<T> {
  const url = path.startsWith("/api/") ? path : `/agents/${deployment_id}${path}`;
  const response = await api(url, { key: ours.admin, method, json });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.status === 204 ? (undefined as T) : response.json<T>();
}

function fail(target: object, method: string) {
  const down = () => {
    throw new Error("down");
  };
  vi.spyOn(Object.getPrototypeOf(target), method).mockImplementation(down);
}

function sqlIn(stub: DurableObjectStub, statement: string) {
  return runInDurableObject(stub, (_object, { storage }) => [...storage.sql.exec(statement)]);
}

/** Fires failing alarms, also of an object that has left the memory, and returns the pause after each. */
async function failAlarms(stub: DurableObjectStub): Promise<number[]> {
  const pauses: number[] = [];
  for (let n = 0; n < FAILURES; n++) {
    if (n % 4 === 3) await evictDurableObject(stub);
    const fired_at = Date.now();
    expect(await runDurableObjectAlarm(stub), `alarm ${n}`).toBe(true);
    const at = await runInDurableObject(stub, (_object, { storage }) => storage.getAlarm());
    pauses.push((at ?? Number.NaN) - fired_at);
  }
  return pauses;
}

function expectGrowth(pauses: number[]) {
  expect(pauses[0]).toBeGreaterThanOrEqual(5000);
  expect(pauses.at(-1)).toBeGreaterThanOrEqual(MAX_PAUSE_MS / 2);
  expect(pauses.at(-1)).toBeLessThan(MAX_PAUSE_MS + 60_000);
}

test.each([
  ["R2", () => fail(env.ARTIFACTS, "list")],
  ["D1", () => fail(env.DB, "prepare")],
])("a partition deletes the payloads of traces after an outage of %s", async (store, outage) => {
  const name = `outage of ${store}`;
  const at = Date.parse("2026-03-02T00:00:00Z");
  const run = wireRun(name, { outputs: { big: "x".repeat(1_000_000) } }, { at });
  await batch(ours.editor, [run]);
  const id = (await projectId(ours.viewer, name)) ?? "";
  const stub = env.PARTITIONS.getByName(`${id}/2026-03-02/0`);
  const objects = async () => (await env.ARTIFACTS.list({ prefix: `runs/${id}/` })).objects.length;
  expect(await objects()).toBe(1);
  await send("POST", "/api/v1/runs/delete", { session_id: id, trace_ids: [run.trace_id] });
  outage();
  const pauses = await failAlarms(stub);
  // Another batch does not end a pause.
  if (store === "R2") {
    const other = { ...wireRun(name, {}, { at: at + 1 }), id: idAt(at + 1) };
    await batch(ours.editor, [{ ...other, trace_id: other.id }]);
    const next = await runInDurableObject(stub, (_object, { storage }) => storage.getAlarm());
    expect(next).toBeGreaterThan(Date.now() + 60_000);
  }
  vi.restoreAllMocks();
  expectGrowth(pauses);
  expect(await runDurableObjectAlarm(stub)).toBe(true);
  expect(await objects()).toBe(0);
});

test("a thread that expires in an outage of the directory leaves it afterwards", async () => {
  const { thread_id } = await send<{ thread_id: string }>("POST", "/threads", { ttl: 10 });
  const stub = env.THREADS.getByName(`${deployment_id}/${thread_id}`);
  const listed = () => send<number>("POST", "/threads/count", {});
  expect(await listed()).toBe(1);
  const then = new Date(Date.now() - 11 * 60_000).toISOString();
  await sqlIn(stub, `UPDATE thread SET updated_at = '${then}'`);
  await evictDurableObject(stub);
  const publish = vi.spyOn(DirectoryObject.prototype, "publish");
  publish.mockRejectedValue(new Error("down"));
  const pauses = await failAlarms(stub);
  vi.restoreAllMocks();
  expectGrowth(pauses);
  expect(await listed()).toBe(1);
  expect(await runDurableObjectAlarm(stub)).toBe(true);
  expect(await listed()).toBe(0);
  expect(await runDurableObjectAlarm(stub)).toBe(false);
});

test("crons fire after an outage of their storage", async () => {
  const cron = { assistant_id: "echo", schedule: "0 * * * *", input: { messages: [] } };
  const { cron_id } = await send<{ cron_id: string }>("POST", "/runs/crons", cron);
  const stub = env.CRONS.getByName(deployment_id);
  await sqlIn(stub, `UPDATE crons SET next_at = ${Date.now() - 1000}`);
  await sqlIn(stub, "ALTER TABLE crons RENAME TO hidden");
  const pauses = await failAlarms(stub);
  await sqlIn(stub, "ALTER TABLE hidden RENAME TO crons");
  expectGrowth(pauses);
  expect(await runDurableObjectAlarm(stub)).toBe(true);
  const firings = await sqlIn(stub, `SELECT outcome FROM firings WHERE cron_id = '${cron_id}'`);
  expect(firings).toEqual([{ outcome: "started" }]);
});

test("expired items are deleted after an outage of their storage", async () => {
  const item = { namespace: ["a"], key: "k", value: {}, ttl: TTL_MINUTES };
  await send("PUT", "/store/items", item);
  const stub = env.STORES.getByName(deployment_id);
  await sqlIn(stub, "ALTER TABLE items RENAME TO hidden");
  const pauses = await failAlarms(stub);
  await sqlIn(stub, "ALTER TABLE hidden RENAME TO items");
  expectGrowth(pauses);
  await scheduler.wait(TTL_MINUTES * 60_000);
  expect(await runDurableObjectAlarm(stub)).toBe(true);
  expect(await sqlIn(stub, "SELECT key FROM items")).toEqual([]);
});
