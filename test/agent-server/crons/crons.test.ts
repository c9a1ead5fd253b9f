import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { firingId } from "../../../src/agent-server/crons/firing.ts";
import { deleteCronsOf } from "../../../src/agent-server/crons/service.ts";
import { systemAssistantId } from "../../../src/agent-server/threads/contract/assistant-ids.ts";
import { threadObject } from "../../../src/agent-server/threads/object/stub.ts";
import { forgetActive } from "../../../src/control-plane/deployments/active.ts";
import { deployments } from "../../../src/control-plane/deployments/table.ts";
import { database } from "../../../src/shared/context.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { directoryRows } from "../../support/directory.ts";
import { eventually } from "../../support/eventually.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Json = Record<string, unknown>;
type Cron = { cron_id: string; thread_id: string | null; next_run_date: string | null } & Json;
type Run = { run_id: string; thread_id: string; status: string; metadata: Json; kwargs: Json };

const HOURLY = { assistant_id: "echo", schedule: "0 * * * *", input: { messages: [] } };

let owner: TestWorkspace;
beforeAll(async () => {
  owner = await workspace();
});

async function agent() {
  const { deployment_id, revision_id } = await testDeployment(owner.workspace_id);
  const call = async <T = unknown>(method: string, path: string, json?: unknown) => {
    const response = await api(`/agents/${deployment_id}${path}`, {
      key: owner.admin,
      method,
      ...(json !== undefined && { json }),
    });
    const text = await response.text();
    const isJson = response.headers.get("Content-Type")?.includes("json");
    return { status: response.status, body: (isJson ? JSON.parse(text) : text) as T };
  };
  const made = async <T>(path: string, json: unknown) => {
    const { status, body } = await call<T>("POST", path, json);
    expect([status, body]).toEqual([200, expect.anything()]);
    return body;
  };
  const create = (json: Json = {}) => made<Cron>("/runs/crons", { ...HOURLY, ...json });
  const thread = async () => (await made<{ thread_id: string }>("/threads", {})).thread_id;
  const createOn = (thread_id: string, json: Json = {}) =>
    made<Cron>(`/threads/${thread_id}/runs/crons`, { ...HOURLY, ...json });
  const get = async (cron_id: string) => (await call<Cron>("GET", `/runs/crons/${cron_id}`)).body;
  const search = (json: Json = {}) => made<Cron[]>("/runs/crons/search", json);
  const runsOf = async (thread_id: string) =>
    (await call<Run[]>("GET", `/threads/${thread_id}/runs?limit=100`)).body;
  const object = () => env.CRONS.getByName(deployment_id);
  /** Fires the cron at its due time. */
  const due = (cron_id: string, at = Date.now() - 1000) =>
    runInDurableObject(object(), (_, { storage }) => {
      storage.sql.exec(
        "UPDATE crons SET next_at = ?, retry_at = NULL WHERE cron_id = ?",
        at,
        cron_id,
      );
    });
  const tick = () => runDurableObjectAlarm(object());
  return {
    ...{
      deployment_id,
      revision_id,
      call,
      create,
      thread,
      createOn,
      get,
      search,
      runsOf,
      object,
      due,
      tick,
    },
  };
}

describe("a cron", () => {
  test("is made, got, changed and deleted", async () => {
    const { create, get, call } = await agent();
    const cron = await create({ metadata: { team: "a" }, timezone: "Europe/Paris" });
    expect(cron).toEqual({
      cron_id: expect.any(String),
      assistant_id: systemAssistantId("echo"),
      thread_id: null,
      schedule: "0 * * * *",
      timezone: "Europe/Paris",
      end_time: null,
      created_at: expect.any(String),
      updated_at: cron.created_at,
      user_id: null,
      payload: expect.objectContaining({
        assistant_id: systemAssistantId("echo"),
        input: { messages: [] },
      }),
      next_run_date: expect.stringMatching(/:00:00.000Z$/),
      metadata: { team: "a" },
      enabled: true,
      on_run_completed: "delete",
    });
    expect(Date.parse(String(cron.next_run_date))).toBeGreaterThan(Date.now());
    expect(await get(cron.cron_id)).toEqual(cron);
    const url = `/runs/crons/${cron.cron_id}`;
    const { body: patched } = await call<Cron>("PATCH", url, {
      schedule: "0 0 1 1 *",
      timezone: null,
      input: { messages: ["new"] },
      on_run_completed: "keep",
    });
    expect(patched).toMatchObject({
      schedule: "0 0 1 1 *",
      timezone: null,
      next_run_date: expect.stringMatching(/-01-01T00:00:00.000Z$/),
      payload: { input: { messages: ["new"] } },
      metadata: { team: "a" },
      on_run_completed: "keep",
    });
    expect((await call("DELETE", url)).status).toBe(204);
    const gone = { status: 404, body: `Cron with ID ${cron.cron_id} not found` };
    expect(await call("DELETE", url)).toEqual(gone);
    expect(await call("GET", url)).toEqual(gone);
    expect(await call("PATCH", url, {})).toEqual(gone);
  });

  test("is disabled and enabled, and its end is removed", async () => {
    const { create, call } = await agent();
    const { cron_id, next_run_date } = await create();
    const patch = async (json: Json) =>
      (await call<Cron>("PATCH", `/runs/crons/${cron_id}`, json)).body;
    expect(await patch({ enabled: false })).toMatchObject({ enabled: false, next_run_date: null });
    expect(await patch({ enabled: true })).toMatchObject({ enabled: true, next_run_date });
    const end_time = "2026-01-01T00:00:00.000Z";
    expect(await patch({ end_time })).toMatchObject({ end_time, next_run_date: null });
    expect(await patch({ metadata: { a: 1 } })).toMatchObject({ end_time, next_run_date: null });
    expect(await patch({ end_time: null })).toMatchObject({ end_time: null, next_run_date });
    expect(await create({ enabled: false })).toMatchObject({ next_run_date: null });
  });

  test.each([
    [{ schedule: "often" }, 422, "body.schedule: must have five fields"],
    [{ schedule: "* * * * * *" }, 422, "body.schedule: must have five fields"],
    [{ schedule: "0 0 31 2 *" }, 422, "body.schedule: never fires"],
    [{ schedule: undefined }, 422, "body.schedule"],
    [{ timezone: "Mars/Olympus" }, 422, "body.timezone"],
    [{ end_time: "soon" }, 422, "body.end_time"],
    [{ assistant_id: "nobody" }, 404, "No assistant found for"],
    [{ webhook: "ftp://example.com" }, 422, "webhook"],
    [{ on_run_completed: "burn" }, 422, "body.on_run_completed"],
    [{ input: "x".repeat(600_000) }, 422, "more than 524288 characters"],
  ])("create %# is refused", async (json, status, text) => {
    const { call } = await agent();
    const answer = await call("POST", "/runs/crons", { ...HOURLY, ...json });
    expect(answer).toEqual({ status, body: expect.stringContaining(text) });
  });

  test("of an unknown thread is a 404", async () => {
    const { call } = await agent();
    const thread_id = crypto.randomUUID();
    expect(await call("POST", `/threads/${thread_id}/runs/crons`, HOURLY)).toEqual({
      status: 404,
      body: `Thread with ID ${thread_id} not found`,
    });
  });

  test("is found by assistant, thread, metadata and whether it is enabled, in order and in part", async () => {
    const { create, createOn, thread, search, call } = await agent();
    const thread_id = await thread();
    const a = await create({ metadata: { team: "a", n: 1 } });
    await new Promise((resolve) => setTimeout(resolve, 2));
    const nested = { team: "a", of: { x: 1, y: [2] } };
    const b = await create({ assistant_id: "steps", enabled: false, metadata: nested });
    await new Promise((resolve) => setTimeout(resolve, 2));
    const c = await createOn(thread_id, { schedule: "0 0 1 1 *" });
    const ids = async (json: Json = {}) => (await search(json)).map(({ cron_id }) => cron_id);
    expect(await ids()).toEqual([c.cron_id, b.cron_id, a.cron_id]);
    expect(await ids({ limit: 1, offset: 1 })).toEqual([b.cron_id]);
    expect(await ids({ assistant_id: "steps" })).toEqual([b.cron_id]);
    expect(await ids({ assistant_id: systemAssistantId("steps") })).toEqual([b.cron_id]);
    expect(await ids({ thread_id })).toEqual([c.cron_id]);
    expect(await ids({ enabled: true })).toEqual([c.cron_id, a.cron_id]);
    expect(await ids({ metadata: { team: "a", n: 1 } })).toEqual([a.cron_id]);
    expect(await ids({ metadata: { of: { y: [2], x: 1 } } })).toEqual([b.cron_id]);
    expect(await ids({ metadata: { of: { x: 1 } } })).toEqual([]);
    expect(await ids({ sort_by: "created_at", sort_order: "asc" })).toEqual([
      a.cron_id,
      b.cron_id,
      c.cron_id,
    ]);
    expect(await ids({ sort_by: "next_run_date", enabled: true })).toEqual([c.cron_id, a.cron_id]);
    await call("PATCH", `/runs/crons/${b.cron_id}`, { end_time: "2100-01-01T00:00:00Z" });
    expect((await ids({ sort_by: "end_time" }))[0]).toBe(b.cron_id);
    expect(await search({ select: ["schedule", "now"], thread_id })).toEqual([
      { schedule: "0 0 1 1 *", now: expect.stringMatching(/Z$/) },
    ]);
    const count = async (json: Json) => (await call("POST", "/runs/crons/count", json)).body;
    expect(await count({})).toBe(3);
    expect(await count({ metadata: { team: "a" } })).toBe(2);
    expect(await count({ thread_id })).toBe(1);
    expect((await call("POST", "/runs/crons/search", { sort_by: "x" })).status).toBe(422);
  });
});

async function setActive(deployment_id: string, active_revision_id: string | null) {
  const mine = eq(deployments.id, deployment_id);
  await database(env).update(deployments).set({ active_revision_id }).where(mine);
  forgetActive(deployment_id);
}

describe("a firing", () => {
  test("starts a run on the thread with the cron's payload and metadata, and the next one follows", async () => {
    const { thread, createOn, due, tick, runsOf, get } = await agent();
    const thread_id = await thread();
    const cron = await createOn(thread_id, {
      input: { messages: [{ role: "user", content: "by the clock" }] },
      metadata: { team: "a" },
      config: { configurable: { thread_id: crypto.randomUUID(), tone: "kind" } },
      on_run_completed: "delete",
    });
    expect(cron.on_run_completed).toBe("keep");
    await due(cron.cron_id);
    expect(await tick()).toBe(true);
    const [run, ...more] = await runsOf(thread_id);
    expect(more).toEqual([]);
    expect(run).toMatchObject({
      thread_id,
      metadata: { team: "a", cron_id: cron.cron_id },
      kwargs: { config: { configurable: { thread_id, tone: "kind" } } },
      multitask_strategy: "enqueue",
    });
    expect((await get(cron.cron_id)).next_run_date).toBe(cron.next_run_date);
    await eventually(async () => expect((await runsOf(thread_id))[0]?.status).toBe("success"));
    // The alarm is set for the next firing, and none is due.
    expect(await tick()).toBe(true);
    expect(await runsOf(thread_id)).toHaveLength(1);
  });

  test("starts one run however often it happens, also after a crash between the two objects", async () => {
    const { thread, createOn, due, tick, runsOf, object } = await agent();
    const thread_id = await thread();
    const { cron_id } = await createOn(thread_id);
    const at = Date.now() - 1000;
    for (let n = 0; n < 3; n++) {
      await due(cron_id, at);
      await tick();
      await evictDurableObject(object());
    }
    expect(await runsOf(thread_id)).toHaveLength(1);
    await due(cron_id, at + 1);
    await tick();
    expect(await runsOf(thread_id)).toHaveLength(2);
  });

  test("without a thread creates one, deletes or keeps it, and never creates it twice", async () => {
    const { deployment_id, create, due, tick, call } = await agent();
    const [gone, kept] = [await create(), await create({ on_run_completed: "keep" })];
    const at = Date.now() - 1000;
    await due(gone.cron_id, at);
    await due(kept.cron_id, at);
    await tick();
    const threads = async () =>
      (await directoryRows(deployment_id)).map(({ metadata: { cron_id } }) => ({ cron_id }));
    await eventually(async () => expect(await threads()).toEqual([{ cron_id: kept.cron_id }]));
    const run_id = await firingId(gone, at);
    const stub = env.THREADS.getByName(`${deployment_id}/${run_id}`);
    const thread = () => threadObject(env, deployment_id, run_id).getThread();
    await eventually(async () => expect(await thread()).toBeNull());
    const runs = () =>
      runInDurableObject(stub, (_, { storage }) => [
        ...storage.sql.exec("SELECT run_id, status, cancel_reason FROM runs"),
      ]);
    await runInDurableObject(stub, (_, { storage }) => {
      storage.sql.exec("UPDATE runs SET cancel_reason = 'marked'");
    });
    const before = await runs();
    expect(before).toEqual([{ run_id, status: "success", cancel_reason: "marked" }]);
    const path = `/threads/${run_id}/runs`;
    const order = { assistant_id: "echo", input: { messages: [] }, if_not_exists: "create" };
    expect((await call("POST", path, order)).status).toBe(404);
    // Long after a reader could still want its stream, the clock comes back to it.
    await runInDurableObject(stub, (_, { storage }) => {
      storage.sql.exec("UPDATE thread SET ended_at = ended_at - 3600000");
    });
    await evictDurableObject(stub);
    await runDurableObjectAlarm(stub);
    await due(gone.cron_id, at);
    await tick();
    expect(await runs()).toEqual(before);
  });

  test("that was missed happens once, late, however many were missed", async () => {
    const { thread, createOn, due, tick, runsOf, get } = await agent();
    const thread_id = await thread();
    const { cron_id, next_run_date } = await createOn(thread_id);
    await due(cron_id, Date.now() - 10 * 60 * 60 * 1000);
    await tick();
    expect(await runsOf(thread_id)).toHaveLength(1);
    expect((await get(cron_id)).next_run_date).toBe(next_run_date);
  });

  test("waits while the deployment does not serve, and happens when it does again", async () => {
    const { deployment_id, revision_id, thread, createOn, due, tick, runsOf, object, get } =
      await agent();
    const thread_id = await thread();
    const { cron_id, next_run_date } = await createOn(thread_id);
    const serve = async (active_revision_id: string | null) => {
      const mine = eq(deployments.id, deployment_id);
      await database(env).update(deployments).set({ active_revision_id }).where(mine);
      forgetActive(deployment_id);
    };
    const state = () =>
      runInDurableObject(object(), (_, { storage }) =>
        storage.sql.exec("SELECT tries, retry_at > next_at AS later FROM crons").one(),
      );
    await serve(null);
    await due(cron_id);
    await tick();
    expect(await state()).toEqual({ tries: 1, later: 1 });
    await serve(revision_id);
    expect(await runsOf(thread_id)).toEqual([]);
    await due(cron_id);
    await tick();
    expect(await runsOf(thread_id)).toHaveLength(1);
    expect(await state()).toEqual({ tries: 0, later: null });
    expect((await get(cron_id)).next_run_date).toBe(next_run_date);
  });

  test("is skipped when it cannot start its run before the end of the cron", async () => {
    const { deployment_id, revision_id, create, call, due, tick, get } = await agent();
    const { cron_id } = await create();
    const end_time = new Date(Date.now() - 500).toISOString();
    await call("PATCH", `/runs/crons/${cron_id}`, { end_time });
    await setActive(deployment_id, null);
    await due(cron_id);
    await tick();
    await setActive(deployment_id, revision_id);
    expect((await call("GET", `/runs/crons/${cron_id}/firings`)).body).toEqual([
      expect.objectContaining({ outcome: "skipped", run_id: null, message: expect.any(String) }),
    ]);
    expect((await get(cron_id)).next_run_date).toBeNull();
  });

  test("is skipped when the cron gets another schedule before the firing starts its run", async () => {
    const { deployment_id, revision_id, create, call, due, tick } = await agent();
    const { cron_id } = await create();
    await setActive(deployment_id, null);
    await due(cron_id);
    await tick();
    await setActive(deployment_id, revision_id);
    const outcomes = async () => {
      const { body } = await call("GET", `/runs/crons/${cron_id}/firings`);
      return (body as { outcome: string }[]).map(({ outcome }) => outcome);
    };
    expect(await outcomes()).toEqual(["waiting"]);
    await call("PATCH", `/runs/crons/${cron_id}`, { schedule: "30 12 * * *" });
    expect(await outcomes()).toEqual(["skipped"]);
  });

  test("by `reject` on a busy thread is skipped; by `enqueue` it waits its turn", async () => {
    const { thread, createOn, due, tick, runsOf, call } = await agent();
    const thread_id = await thread();
    const quick = { assistant_id: "steps", input: { delay_ms: 0 } };
    const rejects = await createOn(thread_id, { ...quick, multitask_strategy: "reject" });
    const queues = await createOn(thread_id, quick);
    const slow = { ...quick, input: { delay_ms: 600_000 } };
    const started = await call<Run>("POST", `/threads/${thread_id}/runs`, slow);
    expect(started.status).toBe(200);
    await due(rejects.cron_id);
    await due(queues.cron_id);
    await tick();
    const runs = await runsOf(thread_id);
    expect(runs.map(({ metadata }) => metadata.cron_id)).toEqual([queues.cron_id, undefined]);
    await call("POST", `/threads/${thread_id}/runs/${started.body.run_id}/cancel`, {});
    await call("GET", `/threads/${thread_id}/runs/${runs[0]?.run_id}/join`);
  });

  test("does not happen to a cron that is off, has ended or is deleted", async () => {
    const { thread, createOn, due, tick, runsOf, call } = await agent();
    const thread_id = await thread();
    const off = await createOn(thread_id);
    const deleted = await createOn(thread_id);
    await due(off.cron_id);
    await due(deleted.cron_id);
    await call("PATCH", `/runs/crons/${off.cron_id}`, { enabled: false });
    await call("DELETE", `/runs/crons/${deleted.cron_id}`);
    await tick();
    expect(await runsOf(thread_id)).toEqual([]);
  });
});

describe("deletion of crons", () => {
  test("the deletion of a thread deletes its crons and no others", async () => {
    const { thread, createOn, create, search, call, due, tick } = await agent();
    const thread_id = await thread();
    await createOn(thread_id);
    const other = await create();
    const { status } = await call("DELETE", `/threads/${thread_id}`);
    expect(status).toBe(204);
    expect(await search()).toEqual([other]);
    await due(other.cron_id);
    await tick();
    const [thread_cron] = await search({ thread_id });
    expect(thread_cron).toBeUndefined();
  });

  test("the deletion of an assistant deletes its crons and no others", async () => {
    const { create, search, call } = await agent();
    const of = async (name: string) => {
      const json = { graph_id: HOURLY.assistant_id, name };
      const { body } = await call<{ assistant_id: string }>("POST", "/assistants", json);
      return { ...body, cron: await create({ assistant_id: body.assistant_id }) };
    };
    const [gone, kept, system] = [await of("gone"), await of("kept"), await create()];
    await call("DELETE", `/assistants/${gone.assistant_id}`);
    // The deployment and its crons exist again at once.
    await call("DELETE", `/assistants/${system.assistant_id}`);
    const left = (await search()).map(({ cron_id }) => cron_id).sort();
    expect(left).toEqual([kept.cron.cron_id, system.cron_id].sort());
  });

  test("a cron whose thread disappeared is deleted at its next firing", async () => {
    const { thread, createOn, due, tick, search, call, object } = await agent();
    const { cron_id } = await createOn(await thread());
    const gone = crypto.randomUUID();
    await runInDurableObject(object(), (_, { storage }) => {
      storage.sql.exec("UPDATE crons SET thread_id = ?", gone);
    });
    await due(cron_id);
    await tick();
    expect(await search()).toEqual([]);
    expect((await call("GET", `/threads/${gone}`)).status).toBe(404);
  });

  test("a cron created during the deletion of its deployment is deleted at its next firing", async () => {
    const { deployment_id, create, due, tick, object } = await agent();
    const { cron_id } = await create();
    const mine = eq(deployments.id, deployment_id);
    await database(env).update(deployments).set({ status: "AWAITING_DELETE" }).where(mine);
    forgetActive(deployment_id);
    await due(cron_id);
    await tick();
    const left = await runInDurableObject(object(), (_, { storage }) => [
      ...storage.sql.exec("SELECT cron_id FROM crons"),
    ]);
    expect(left).toEqual([]);
  });

  test("the deletion of a deployment drops the table of crons", async () => {
    const { deployment_id, create, object, tick } = await agent();
    await create();
    await deleteCronsOf(env, deployment_id);
    expect(await tick()).toBe(false);
    const tables = await runInDurableObject(object(), (_, { storage }) => [
      ...storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'crons'"),
    ]);
    expect(tables).toEqual([]);
  });
});

test("viewers read and do not write; a deployment knows no crons of another", async () => {
  const { deployment_id, create } = await agent();
  const { cron_id } = await create();
  const url = `/agents/${deployment_id}/runs/crons`;
  expect((await api(`${url}/${cron_id}`, { key: owner.viewer })).status).toBe(200);
  expect((await api(url, { key: owner.viewer, json: HOURLY })).status).toBe(403);
  expect((await api(`${url}/${cron_id}`, { key: owner.viewer, method: "DELETE" })).status).toBe(
    403,
  );
  const other = await agent();
  expect((await other.call("GET", `/runs/crons/${cron_id}`)).status).toBe(404);
  const stranger = await workspace();
  expect((await api(`${url}/${cron_id}`, { key: stranger.admin })).status).toBe(404);
});

describe("firings", () => {
  type Firing = { outcome: string; run_id: string | null; is_manual: boolean; message: unknown };

  test("are kept with their runs, the newest first, also those that started none", async () => {
    const { deployment_id, create, createOn, thread, due, tick, call } = await agent();
    const firings = async (id: string) =>
      (await call<Firing[]>("GET", `/runs/crons/${id}/firings`)).body;
    const { cron_id } = await create({ on_run_completed: "keep" });
    expect(await firings(cron_id)).toEqual([]);
    const times = [Date.now() - 3000, Date.now() - 2000];
    for (const at of times) {
      await due(cron_id, at);
      await tick();
    }
    const expected = await Promise.all(
      times.toReversed().map(async (at) => ({
        scheduled_at: new Date(at).toISOString(),
        fired_at: expect.any(String),
        is_manual: false,
        outcome: "started",
        run_id: await firingId({ cron_id }, at),
        thread_id: expect.any(String),
        run_status: "success",
        message: null,
      })),
    );
    await eventually(async () => expect(await firings(cron_id)).toEqual(expected));
    const byName = `/agents/test-${deployment_id}/runs/crons/${cron_id}/firings`;
    expect(await (await api(byName, { key: owner.viewer })).json()).toEqual(expected);
    const thread_id = await thread();
    const later = { assistant_id: "echo", input: {}, after_seconds: 3600 };
    await call("POST", `/threads/${thread_id}/runs`, later);
    const busy = await createOn(thread_id, { multitask_strategy: "reject" });
    await due(busy.cron_id);
    await tick();
    expect(await firings(busy.cron_id)).toEqual([
      expect.objectContaining({ outcome: "skipped", run_id: null, run_status: null }),
    ]);
    await call("DELETE", `/runs/crons/${cron_id}`);
    expect((await call("GET", `/runs/crons/${cron_id}/firings`)).status).toBe(404);
  });

  test("by hand start one run for each second, and keep the schedule", async () => {
    const { create, get, call } = await agent();
    const { cron_id } = await create({ enabled: false });
    const before = await get(cron_id);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const fire = () => call<Run>("POST", `/runs/crons/${cron_id}/fire`);
    const [one, two] = [await fire(), await fire()];
    vi.useRealTimers();
    expect([one.status, two.body.run_id]).toEqual([200, one.body.run_id]);
    expect(one.body.metadata).toMatchObject({ cron_id });
    expect(await get(cron_id)).toEqual(before);
    expect((await call("GET", `/runs/crons/${cron_id}/firings`)).body).toEqual([
      expect.objectContaining({ outcome: "started", is_manual: true, run_id: one.body.run_id }),
    ]);
    const missing = `/runs/crons/${crypto.randomUUID()}/fire`;
    expect((await call("POST", missing)).status).toBe(404);
  });
});
