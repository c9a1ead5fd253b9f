import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { resumeDeployment } from "../../../local/entries/resume.ts";
import { visitBusyThreads } from "../../../src/agent-server/threads/directory/busy-threads.ts";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { ThreadStore } from "../../../src/agent-server/threads/object/storage/store.ts";
import {
  openIsolate,
  setIsolateOpener,
} from "../../../src/control-plane/deployments/isolate/isolate.ts";
import { readRevisionCode } from "../../../src/control-plane/deployments/isolate/revision-code.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { systemContext } from "../../support/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { EVERYTHING, namesOf, ownRevision, testThread } from "../../support/threads.ts";

/** The raw stub: the test helpers of the runtime want it, not its typed calls. */
function stubOf({ deployment_id, thread_id }: { deployment_id: string; thread_id: string }) {
  return env.THREADS.getByName(`${deployment_id}/${thread_id}`) as DurableObjectStub<ThreadObject>;
}

/** Ends the object as a crash does: memory, calls and streams are gone, storage stays. */
async function crash(place: { deployment_id: string; thread_id: string }) {
  await runInDurableObject(stubOf(place), (_instance, state) => state.abort("crash")).catch(
    () => {},
  );
}

test("a run whose object crashes resumes from its last step, and its reader misses nothing", async () => {
  const { place, object, create, follow, join } = await testThread();
  const { run_id } = await create("steps", { input: { delay_ms: 150 }, stream_mode: "updates" });
  const before = await object.followRun(run_id, EVERYTHING);
  const reader = before?.getReader();
  let text = "";
  while (!text.includes('"a"')) text += new TextDecoder().decode((await reader?.read())?.value);
  reader?.cancel().catch(() => {});
  await crash(place);

  expect((await join(run_id)).log).toEqual(["a", "b", "c"]);
  const events = await follow(run_id);
  expect(namesOf(events).filter((name) => name === "metadata")).toHaveLength(2);
  expect(events.at(-1)?.data).toEqual({ c: { log: ["c"] } });
  expect(JSON.stringify(events).match(/"log":\["a"\]/g)).toHaveLength(1);
});

test.each([
  ["sync", "first"],
  ["sync", "second"],
  ["async", "second"],
])(
  "a crash between a checkpoint and its values loses no values: %s, the %s",
  async (durability, which) => {
    const { place, create, follow, join } = await testThread();
    const { run_id } = await create("steps", {
      ...{ input: { delay_ms: 100 }, stream_mode: "values", durability },
    });
    // `abort` throws, and ends the object that writes these values.
    const objectState = await runInDurableObject(stubOf(place), (_instance, state) => state);
    const { apply } = ThreadStore.prototype;
    let isCrashed = false;
    const crashing = vi.spyOn(ThreadStore.prototype, "apply").mockImplementation(function (
      this: ThreadStore,
      ...[id, ops]
    ) {
      const values = which === "first" ? /"log":\[\]/ : /"log":\["a"\]/;
      const hasStep = ops.some((op) => op.op === "event" && values.test(op.data));
      if (id === run_id && hasStep && !isCrashed) {
        isCrashed = true;
        objectState.abort("crash");
      }
      return apply.call(this, id, ops);
    });
    onTestFinished(() => crashing.mockRestore());
    await eventually(async () => expect(isCrashed).toBe(true));
    expect((await join(run_id)).log).toEqual(["a", "b", "c"]);
    const values = (await follow(run_id)).filter(({ event }) => event === "values");
    const logs = values.map(({ data }) => (data as { log: string[] }).log.join(""));
    expect(logs).toEqual(["", "a", "ab", "abc"]);
    expect(await attemptsOf(place)).toEqual({ attempt: 2 });
  },
);

/** Attempts at a run, read from its storage: no call opens the thread. */
async function attemptsOf(place: { deployment_id: string; thread_id: string }) {
  return runInDurableObject(stubOf(place), (_, { storage }) =>
    storage.sql.exec<{ attempt: number }>("SELECT attempt FROM runs").one(),
  );
}

test("the first call after a restart takes a lost run over, without a pause", async () => {
  const { place, object, create, join } = await testThread();
  const { run_id } = await create("steps", { input: { delay_ms: 100 } });
  expect(await attemptsOf(place)).toEqual({ attempt: 1 });
  await crash(place);
  await object.getThread();
  expect(await attemptsOf(place)).toEqual({ attempt: 2 });
  expect((await join(run_id)).log).toEqual(["a", "b", "c"]);
});

test("on one machine, a restart of the Worker takes lost runs over without a client", async () => {
  const { place, object, create } = await testThread(ownRevision());
  await create("steps", { input: { delay_ms: 20_000 } });
  // Once a thread is listed as busy: what the directory lacks waits for a heartbeat.
  const ctx = systemContext(place.workspace_id);
  const isListed = async () => {
    const listed: string[] = [];
    await visitBusyThreads(ctx, { deployment_id: place.deployment_id }, async (ids) => {
      listed.push(...ids);
    });
    expect(listed).toEqual([place.thread_id]);
  };
  await eventually(isListed);
  await crash(place);
  expect(await attemptsOf(place)).toEqual({ attempt: 1 });
  await resumeDeployment(env, place);
  expect(await attemptsOf(place)).toEqual({ attempt: 2 });
  await object.deleteThread();
});

test("a run that crashes before the row of its thread is written has its thread again", async () => {
  const { place, object, create } = await testThread();
  const { run_id } = await create("steps", { input: { delay_ms: 20_000 } });
  const before = await object.getThread();
  expect(before).toMatchObject({ status: "busy", config: { configurable: { run_id } } });
  await runInDurableObject(stubOf(place), async (_, { storage }) => {
    storage.sql.exec("UPDATE thread SET status = 'idle', metadata = '{}', config = '{}'");
    await storage.sync();
  });
  await crash(place);

  const after = await object.getThread();
  const { status, config, metadata } = before ?? expect.fail("The thread is missing");
  expect(after).toMatchObject({ status, config, metadata });
  await object.deleteThread();
});

test("a failed transaction keeps the start of a run that is not written", async () => {
  const { place } = await testThread();
  await runInDurableObject(stubOf({ ...place, thread_id: newId() }), (_, { storage }) => {
    const store = new ThreadStore(storage);
    store.create({ ...place, thread_id: newId() });
    const config = { configurable: { a: 1 } };
    store.transaction(() => store.thread.assign({ metadata: { graph_id: "g" }, config }));
    const stored = () => new ThreadStore(storage).thread.outline();
    expect(stored()).toMatchObject({ status: "idle", config: {} });
    const fail = () => {
      throw new Error("fails");
    };
    expect(() => store.transaction(fail)).toThrow("fails");
    expect(store.thread.outline()).toMatchObject({ status: "busy", config });
    store.transaction(() => store.thread.writeStart());
    expect(stored()).toMatchObject({ status: "busy", config, metadata: { graph_id: "g" } });
  });
});

test("an alarm alone brings a lost run back", async () => {
  const { place, create, join } = await testThread();
  const { run_id } = await create("steps", { input: { delay_ms: 100 } });
  await crash(place);
  expect(await runDurableObjectAlarm(stubOf(place))).toBe(true);
  expect((await join(run_id)).log).toEqual(["a", "b", "c"]);
});

test("once its run has ended and is published, a thread sleeps until its events expire", async () => {
  const { place, create, join } = await testThread();
  const { run_id } = await create("echo", { input: { messages: [] } });
  const alarm = () => runInDurableObject(stubOf(place), (_, { storage }) => storage.getAlarm());
  expect(await alarm()).toBeLessThan(Date.now() + 60_000);
  await join(run_id);
  const isAsleep = async () => expect(await alarm()).toBeGreaterThan(Date.now() + 3_600_000);
  await eventually(isAsleep);
});

test("an alarm whose thread is deleted while it delivers ends quietly", async () => {
  const { place, object, create, join } = await testThread();
  const { run_id } = await create("echo", { input: { messages: [] } });
  await join(run_id);
  const alarm = runInDurableObject(stubOf(place), (thread) => thread.alarm());
  expect(await object.deleteThread()).toBe(true);
  await alarm;
  expect(await object.getThread()).toBeNull();
});

/** Waits until an attempt has begun, and the thread has as many checkpoints. */
async function reached(thread: Awaited<ReturnType<typeof testThread>>, attempt: number, n: number) {
  await eventually(async () => {
    await thread.object.getThread();
    const [row] = await runInDurableObject(stubOf(thread.place), (_, { storage }) =>
      storage.sql
        .exec<{ attempt: number; n: number }>(
          "SELECT attempt, (SELECT count(*) FROM checkpoints) AS n FROM runs",
        )
        .toArray(),
    );
    expect(row?.attempt).toBe(attempt);
    expect(row?.n).toBeGreaterThanOrEqual(n);
  });
}

test("a run that loses its isolate three times at one step ends with IsolateLostError", async () => {
  const thread = await testThread();
  const { place, object, create, join } = thread;
  const values = { delay_ms: 20_000, log: ["given"] };
  const { run_id } = await create("steps", { input: values });
  for (let attempt = 1; attempt <= 3; attempt++) {
    // The first step begins after two checkpoints.
    await reached(thread, attempt, 2);
    await crash(place);
  }
  const error = { error: "IsolateLostError" };
  expect((await join(run_id)).__error__).toMatchObject(error);
  await eventually(async () => {
    expect(await object.getThread()).toMatchObject({ status: "error", error, values });
  });
});

/** Ends the object as the deployment of a new version does. */
async function upgrade(place: { deployment_id: string; thread_id: string }, attempt: number) {
  await runInDurableObject(stubOf(place), (_, { storage }) => {
    storage.sql.exec("UPDATE runs SET version = 'before', attempt = ?", attempt);
  });
  await crash(place);
}

test("attempts that a new version of the Worker ends do not count, up to the thirtieth", async () => {
  const thread = await testThread();
  const { place, create, join } = thread;
  const { run_id } = await create("steps", { input: { delay_ms: 20_000 } });
  for (let attempt = 1; attempt <= 4; attempt++) {
    await reached(thread, attempt, 2);
    await upgrade(place, attempt);
  }
  await reached(thread, 5, 2);
  await upgrade(place, 30);
  expect((await join(run_id)).__error__).toMatchObject({ error: "IsolateLostError" });
}, 120_000);

describe("on one machine", () => {
  beforeEach(() => {
    setIsolateOpener((given, call) =>
      openIsolate(given.LOADER, call, () => readRevisionCode(given, call.ref)),
    );
  });
  afterEach(() => setIsolateOpener(null));

  test("attempts that the end of the main process cuts off do not count", async () => {
    const thread = await testThread(ownRevision());
    const { place, create, object } = thread;
    await create("steps", { input: { delay_ms: 20_000 } });
    for (let attempt = 1; attempt <= 4; attempt++) {
      await reached(thread, attempt, 2);
      await crash(place);
    }
    await reached(thread, 5, 2);
    await object.deleteThread();
  }, 120_000);
});

test("losses with a checkpoint in between do not end a run", async () => {
  const thread = await testThread();
  const { place, create, join } = thread;
  const { run_id } = await create("steps", { input: { delay_ms: 1_500 } });
  const checkpoints = [3, 3, 4, 4];
  for (const [n, count] of checkpoints.entries()) {
    await reached(thread, n + 1, count);
    await crash(place);
  }
  expect((await join(run_id)).log).toEqual(["a", "b", "c"]);
}, 120_000);

test("a temporary thread is gone when its run is over, and its storage a little later", async () => {
  const { object, order, place } = await testThread();
  await object.deleteThread();
  const temporary = { ...place, temporary: true };
  const run = order("echo", { input: { messages: [] } });
  const accepted = await object.waitRun(
    { ...run, create_thread: temporary, kwargs: { ...run.kwargs, temporary: true } },
    "continue",
  );
  if (!accepted.ok) throw new Error(accepted.refusal);
  await new Response(accepted.body).text();
  expect(await object.getThread()).toBeNull();
  expect(await object.getRun(run.run_id)).toBeNull();
  expect(await object.followRun(run.run_id, EVERYTHING)).not.toBeNull();
  const size = await runInDurableObject(stubOf(place), (_instance, state) => {
    state.storage.sql.exec("UPDATE thread SET ended_at = ended_at - 3600000");
    return state.storage.sql.databaseSize;
  });
  expect(size).toBeGreaterThan(0);
  await crash(place);
  await runDurableObjectAlarm(stubOf(place));
  const left = await runInDurableObject(stubOf(place), (_instance, state) =>
    state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'thread'").toArray(),
  );
  expect(left).toEqual([]);
});

test("an object that was only read stores nothing", async () => {
  const { object, place } = await testThread();
  await object.deleteThread();
  expect(await object.getThread()).toBeNull();
  const tables = await runInDurableObject(stubOf(place), (_instance, state) =>
    state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'thread'").toArray(),
  );
  expect(tables).toEqual([]);
});
