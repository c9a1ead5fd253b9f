import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import * as worker from "../../../src/index.ts";
import { isMigrated } from "../../../src/shared/storage/object-tables.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { directoryStub } from "../../support/directory.ts";
import { eventually } from "../../support/eventually.ts";
import { failD1, failR2 } from "../../support/outage.ts";
import { objectNameOf } from "../../support/threads.ts";
import { api, workspace } from "../../support/workspace.ts";
import { batch, projectId, wireRun } from "../../traces/support/runs.ts";

const MINUTE_MS = 60_000;
const STEP_MS = 3 * MINUTE_MS;
const STEPS = 20;
/** Not each step fires an alarm: pauses grow to more than one step. */
const MAX_ALARMS = 16;
const DAY = "2026-03-02";

let passed = 0;
afterEach(() => void vi.restoreAllMocks());

const INPUT = { assistant_id: "echo", input: { messages: [] } };

async function scene() {
  const ours = await workspace();
  const { deployment_id } = await testDeployment(ours.workspace_id);
  const send = async <T>(method: string, path: string, json?: unknown): Promise<T> => {
    const url = path.startsWith("/api/") ? path : `/agents/${deployment_id}${path}`;
    const response = await api(url, { key: ours.admin, method, json });
    const text = await response.text();
    expect(response.ok, `${path}: ${response.status} ${text}`).toBe(true);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  };
  return { ours, deployment_id, send };
}

type Scene = Awaited<ReturnType<typeof scene>>;
/** Work that needs D1, R2 or the object's storage, begun before the outage or in it. */
type Work = { stubs: DurableObjectStub[]; whenDone(): Promise<void> };
/** Returns what begins in the outage. */
type Begin = (scene: Scene) => Promise<() => Promise<Work>>;

const WORK: Record<string, Begin> = {
  ThreadObject: async ({ deployment_id, send }) => {
    const ids = { kept: "", expiring: "" };
    ids.kept = (await send<{ thread_id: string }>("POST", "/threads", {})).thread_id;
    ids.expiring = (await send<{ thread_id: string }>("POST", "/threads", { ttl: 10 })).thread_id;
    await send("POST", `/threads/${ids.kept}/runs/wait`, INPUT);
    return async () => {
      const webhook = "https://example.com/hook";
      const run = { ...INPUT, webhook };
      await send("POST", `/threads/${ids.kept}/runs/wait`, run);
      const { run_id } = await send<{ run_id: string }>("POST", "/runs", run);
      const names = [ids.kept, ids.expiring, run_id];
      return {
        stubs: names.map((id) => env.THREADS.getByName(objectNameOf(deployment_id, id))),
        whenDone: async () => {
          const found = await send<{ thread_id: string; status: string }[]>(
            "POST",
            "/threads/search",
            {},
          );
          expect(found).toMatchObject([{ thread_id: ids.kept, status: "idle" }]);
          const counts = await env.DB.prepare(
            "SELECT count(*) AS webhooks FROM run_webhooks WHERE deployment_id = ?",
          )
            .bind(deployment_id)
            .first();
          expect(counts).toEqual({ webhooks: 2 });
          const project = await env.DB.prepare(
            "SELECT tracing_project_id AS id FROM deployments WHERE id = ?",
          )
            .bind(deployment_id)
            .first<{ id: string }>();
          const query = { session: [project?.id], is_root: true };
          const { runs } = await send<{ runs: unknown[] }>("POST", "/api/v1/runs/query", query);
          expect(runs).toHaveLength(3);
        },
      };
    };
  },
  TracePartition: async ({ ours, send }) => {
    const name = "an hour";
    const at = Date.parse(`${DAY}T00:00:00Z`);
    const run = wireRun(name, { outputs: { big: "x".repeat(1_000_000) } }, { at });
    await batch(ours.editor, [run]);
    const id = (await projectId(ours.viewer, name)) ?? "";
    const payloads = async () =>
      (await env.ARTIFACTS.list({ prefix: `runs/${id}/` })).objects.length;
    expect(await payloads()).toBe(1);
    await send("POST", "/api/v1/runs/delete", { session_id: id, trace_ids: [run.trace_id] });
    return async () => ({
      stubs: [env.PARTITIONS.getByName(`${id}/${DAY}/0`)],
      whenDone: async () => expect(await payloads()).toBe(0),
    });
  },
  CronObject: async ({ deployment_id, send }) => {
    const cron = { ...INPUT, schedule: "0 0 1 1 *", on_run_completed: "keep" };
    const { cron_id } = await send<{ cron_id: string }>("POST", "/runs/crons", cron);
    const stub = env.CRONS.getByName(deployment_id);
    return async () => {
      await runInDurableObject(stub, (_object, { storage }) => {
        storage.sql.exec("UPDATE crons SET next_at = ?", Date.now() - 1000);
        return storage.setAlarm(Date.now());
      });
      return {
        stubs: [stub],
        whenDone: async () => {
          const firings = await runInDurableObject(stub, (_object, { storage }) => [
            ...storage.sql.exec("SELECT outcome FROM firings WHERE cron_id = ?", cron_id),
          ]);
          expect(firings).toContainEqual({ outcome: "started" });
        },
      };
    };
  },
  StoreObject: async ({ deployment_id, send }) => {
    await send("PUT", "/store/items", { namespace: ["a"], key: "k", value: {}, ttl: 30 });
    const stub = env.STORES.getByName(deployment_id);
    return async () => ({
      stubs: [stub],
      whenDone: async () => {
        const items = await runInDurableObject(stub, (_object, { storage }) => [
          ...storage.sql.exec("SELECT key FROM items"),
        ]);
        expect(items).toEqual([]);
      },
    });
  },
  DirectoryObject: async ({ deployment_id, send }) => {
    const { thread_id } = await send<{ thread_id: string }>("POST", "/threads", {});
    await send("DELETE", `/threads/${thread_id}`);
    const stub = directoryStub(deployment_id);
    return async () => ({
      stubs: [stub],
      whenDone: async () => {
        const isKept = await runInDurableObject(stub, (_, { storage }) => isMigrated(storage));
        expect(isKept).toBe(false);
      },
    });
  },
};

test("each class with an alarm has work in the tests below", () => {
  const classes = Object.entries(worker).flatMap(([name, value]) =>
    typeof value === "function" && "alarm" in value.prototype ? [name] : [],
  );
  expect(classes.sort()).toEqual(Object.keys(WORK).sort());
});

/** Fires the alarms that are due. An object that has left the memory continues from its storage. */
async function fireDue(stubs: DurableObjectStub[], alarms: number[]) {
  for (const [n, stub] of stubs.entries()) {
    const at = await runInDurableObject(stub, (_object, { storage }) => storage.getAlarm());
    if (at === null || at > Date.now()) continue;
    const fired = (alarms[n] ?? 0) + 1;
    alarms[n] = fired;
    if (fired % 4 === 3) await evictDurableObject(stub);
    await runDurableObjectAlarm(stub);
  }
}

test.each(Object.entries(WORK))(
  "%s: after an hour without D1 and R2, all is done",
  async (_, begin) => {
    const { now } = Date;
    vi.spyOn(Date, "now").mockImplementation(() => now() + passed);
    passed += MINUTE_MS;
    const inOutage = await begin(await scene());
    const ends = [failD1(), failR2()];
    const { stubs, whenDone } = await inOutage();
    const alarms = stubs.map(() => 0);
    for (let step = 0; step < STEPS; step++) {
      passed += STEP_MS;
      await fireDue(stubs, alarms);
    }
    expect(Math.max(...alarms)).toBeGreaterThan(0);
    expect(Math.max(...alarms)).toBeLessThan(MAX_ALARMS);
    for (const end of ends) end();
    await eventually(
      async () => {
        passed += STEP_MS;
        await fireDue(stubs, alarms);
        await whenDone();
      },
      { interval: 500 },
    );
  },
  400_000,
);
