import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { DEADLINE_MS, MAX_CRONS } from "../../../src/agent-server/crons/limits.ts";
import { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { countWork, FEED } from "../../support/counted-work.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Json = Record<string, unknown>;
type Run = { run_id: string; metadata: { cron_id?: string } };

vi.setConfig({ testTimeout: 120_000 });

const YEARLY = { assistant_id: "echo", schedule: "0 0 1 1 *", input: { messages: [] } };

let owner: TestWorkspace;
beforeAll(async () => {
  owner = await workspace();
});

/** A thread has a thousand runs to do, which would delay the tests of other files. */
const threads: string[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  const options = { key: owner.admin, method: "DELETE" };
  for (const path of threads.splice(0)) expect((await api(path, options)).status).toBe(204);
});

async function agent() {
  const { deployment_id } = await testDeployment(owner.workspace_id);
  const call = async <T>(path: string, json?: unknown, method?: string) => {
    const sent = {
      key: owner.admin,
      ...(json !== undefined && { json }),
      ...(method && { method }),
    };
    const response = await api(`/agents/${deployment_id}${path}`, sent);
    expect([path, response.status]).toEqual([path, 200]);
    return response.json<T>();
  };
  const busyThread = async () => {
    const { thread_id } = await call<{ thread_id: string }>("/threads", {});
    const order = { assistant_id: "echo", input: {}, after_seconds: 3600 };
    await call(`/threads/${thread_id}/runs`, order);
    threads.push(`/agents/${deployment_id}/threads/${thread_id}`);
    return thread_id;
  };
  const cronOn = async (thread_id: string, json: Json = {}) =>
    (await call<{ cron_id: string }>(`/threads/${thread_id}/runs/crons`, { ...YEARLY, ...json }))
      .cron_id;
  const sql = <T extends Record<string, SqlStorageValue>>(query: string, ...values: unknown[]) =>
    runInDurableObject(env.CRONS.getByName(deployment_id), (_, { storage }) =>
      storage.sql.exec<T>(query, ...(values as SqlStorageValue[])).toArray(),
    );
  /** Copies a cron, as the object stores it. */
  const copy = (cron_id: string, count: number) =>
    sql(
      `INSERT INTO crons (cron_id, deployment_id, assistant_id, thread_id, schedule, enabled,
         on_run_completed, payload, metadata, principal, created_at, updated_at, next_at, tries)
       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       SELECT printf('00000000-0000-4000-8000-%012d', i), deployment_id, assistant_id, thread_id, schedule,
         enabled, on_run_completed, payload, metadata, principal, created_at, updated_at, next_at, tries
       FROM crons, n WHERE cron_id = ?`,
      count,
      cron_id,
    );
  const due = (at = Date.now() - 1000) => sql("UPDATE crons SET next_at = ?", at);
  const tick = () => runDurableObjectAlarm(env.CRONS.getByName(deployment_id));
  /** Ids of the crons of a thread's runs. */
  const cronsOfRuns = async (thread_id: string) => {
    const runs = await call<Run[]>(`/threads/${thread_id}/runs?limit=1000`);
    return runs.flatMap(({ metadata }) => metadata.cron_id ?? []).sort();
  };
  return { deployment_id, call, busyThread, cronOn, sql, copy, due, tick, cronsOfRuns };
}

test("1,000 firings write two rows each, call their thread once each, and share what they read from D1", async () => {
  const { deployment_id, busyThread, cronOn, sql, copy, due, tick } = await agent();
  const cron_id = await cronOn(await busyThread());
  await copy(cron_id, 999);
  await due();
  const counted = await countWork([deployment_id, owner.workspace_id], FEED);
  await tick();
  const work = counted.stop();
  expect(await sql("SELECT outcome, count(*) AS n FROM firings GROUP BY outcome")).toEqual([
    { outcome: "started", n: 1000 },
  ]);
  // The alarm is one row, and one request.
  expect([work.cron_rows, work.cron_requests]).toEqual([2001, 1]);
  // The alarm of the thread is a request too.
  expect(work.thread_requests).toBeLessThan(1100);
  // Polls of the change feed are left out: they follow the time.
  expect(work.d1_reads).toBeLessThan(250);
});

test("a cron keeps its last 20 firings, and another one writes two rows", async () => {
  const { deployment_id, busyThread, cronOn, call, due, tick } = await agent();
  const cron_id = await cronOn(await busyThread());
  const first = Date.now() - 60_000;
  for (let n = 0; n < 21; n++) {
    await due(first + n);
    await tick();
  }
  await due(first + 21);
  const counted = await countWork([deployment_id]);
  await tick();
  expect(counted.stop().cron_rows).toBe(3);
  const listed = await call<{ scheduled_at: string }[]>(`/runs/crons/${cron_id}/firings`);
  const times = listed.map(({ scheduled_at }) => Date.parse(scheduled_at) - first);
  expect(times).toEqual(Array.from({ length: 20 }, (_, n) => 21 - n));
});

/** Calls of a thread wait until the gate is open. They look, as a request cannot continue another one. */
function closeThread(thread_id: string) {
  let isOpen = false;
  const { call } = ThreadObject.prototype;
  vi.spyOn(ThreadObject.prototype, "call").mockImplementation(async function (
    this: ThreadObject,
    ...args
  ) {
    const { id } = Reflect.get(this, "ctx") as DurableObjectState;
    while (id.name?.endsWith(thread_id) && !isOpen) await scheduler.wait(5);
    return call.apply(this, args);
  });
  return () => {
    isOpen = true;
  };
}

test("a slow and a failing firing delay no other one, not even one that is due later", async () => {
  const { busyThread, cronOn, sql, due, tick, cronsOfRuns } = await agent();
  const [slow, other] = [await busyThread(), await busyThread()];
  const slow_cron = await cronOn(slow);
  const failing = await cronOn(other, { multitask_strategy: "reject" });
  const [quick, later] = [await cronOn(other), await cronOn(other)];
  const open = closeThread(slow);
  await due();
  await sql("UPDATE crons SET next_at = ? WHERE cron_id = ?", Date.now() + 3_600_000, later);
  const ticking = tick();
  await expect.poll(() => cronsOfRuns(other)).toEqual([quick]);
  await sql("UPDATE crons SET next_at = ? WHERE cron_id = ?", Date.now() - 1, later);
  await ticking;
  const second = tick();
  await expect.poll(() => cronsOfRuns(other)).toEqual([quick, later].sort());
  const outcomes = () => sql("SELECT cron_id, outcome FROM firings ORDER BY outcome, cron_id");
  const started = (ids: string[]) => ids.sort().map((cron_id) => ({ cron_id, outcome: "started" }));
  const skipped = { cron_id: failing, outcome: "skipped" };
  await expect.poll(outcomes).toEqual([skipped, ...started([quick, later])]);
  open();
  await second;
  await expect.poll(outcomes).toEqual([skipped, ...started([quick, later, slow_cron])]);
  expect(await cronsOfRuns(slow)).toEqual([slow_cron]);
});

test("an alarm that a crash ends halfway continues, and starts each run once", async () => {
  const { deployment_id, call, busyThread, cronOn, sql, due, tick, cronsOfRuns } = await agent();
  const [slow, other] = [await busyThread(), await busyThread()];
  const late = [await cronOn(slow), await cronOn(slow)].sort();
  const early = [await cronOn(other), await cronOn(other)].sort();
  const open = closeThread(slow);
  const at = Date.now() - 1000;
  await due(at);
  const ticking = tick().catch(() => false);
  await expect.poll(() => cronsOfRuns(other)).toEqual(early);
  // A change sets the alarm, which replaces the one that the platform would repeat.
  const [changed] = late;
  await call(`/runs/crons/${changed}`, { metadata: { by: "test" } }, "PATCH");
  const alarm = await runInDurableObject(env.CRONS.getByName(deployment_id), (_, { storage }) =>
    storage.getAlarm(),
  );
  expect(alarm).toBeLessThanOrEqual(Date.now() + DEADLINE_MS);
  const crash = runInDurableObject(env.CRONS.getByName(deployment_id), (_, state) =>
    state.abort("crashed"),
  );
  await expect(crash).rejects.toThrow("crashed");
  await ticking;
  open();
  for (let n = 0; n < 3; n++) {
    await due(at);
    // The platform repeats an alarm that a crash has ended.
    await runInDurableObject(env.CRONS.getByName(deployment_id), (_, { storage }) =>
      storage.setAlarm(Date.now()),
    );
    await tick();
  }
  const started = () => sql("SELECT cron_id FROM firings WHERE outcome = 'started'");
  await expect.poll(started).toHaveLength(4);
  expect(await cronsOfRuns(slow)).toEqual(late);
  expect(await cronsOfRuns(other)).toEqual(early);
});

test("a firing without its assistant is skipped, and the cron stays", async () => {
  const { busyThread, cronOn, sql, due, tick, call } = await agent();
  const cron_id = await cronOn(await busyThread());
  await sql("UPDATE crons SET assistant_id = ?", crypto.randomUUID());
  await due();
  await tick();
  expect(await sql("SELECT outcome FROM firings")).toEqual([{ outcome: "skipped" }]);
  expect(await call(`/runs/crons/${cron_id}`)).toMatchObject({ cron_id, enabled: true });
});

test("10,000 crons are counted and found page by page, and another one is refused", async () => {
  const { deployment_id, busyThread, cronOn, copy, call } = await agent();
  const thread_id = await busyThread();
  const cron_id = await cronOn(thread_id, { metadata: { team: "a" } });
  await copy(cron_id, MAX_CRONS - 1);
  expect(await call("/runs/crons/count", { metadata: { team: "a" } })).toBe(MAX_CRONS);
  const page = { sort_by: "cron_id", sort_order: "asc", limit: 3, offset: MAX_CRONS - 3 };
  const found = await call<{ cron_id: string }[]>("/runs/crons/search", page);
  expect(found.map((one) => one.cron_id)).toEqual([
    "00000000-0000-4000-8000-000000009998",
    "00000000-0000-4000-8000-000000009999",
    cron_id,
  ]);
  const path = `/agents/${deployment_id}/threads/${thread_id}/runs/crons`;
  const refused = await api(path, { key: owner.admin, json: YEARLY });
  expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining("10000")]);
});
