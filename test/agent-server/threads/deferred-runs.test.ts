import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, onTestFinished, test, vi } from "vitest";
import { planRun } from "../../../src/agent-server/threads/object/loop/run-plan.ts";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import {
  isLongGraph,
  noteRun,
} from "../../../src/agent-server/threads/object/readers/long-graphs.ts";
import { ThreadStore } from "../../../src/agent-server/threads/object/storage/store.ts";
import { threadObject } from "../../../src/agent-server/threads/object/stub.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { EVERYTHING, namesOf, readEvents, readText, testThread } from "../../support/threads.ts";

type TestThread = Awaited<ReturnType<typeof testThread>>;

const STEPS = { input: { delay_ms: 300 } };

function stubOf({ place }: TestThread) {
  const name = `${place.deployment_id}/${place.thread_id}`;
  return env.THREADS.getByName(name) as DurableObjectStub<ThreadObject>;
}

/** Ends the object as a crash does: memory, calls and streams are gone, storage stays. */
async function crash(thread: TestThread) {
  await runInDurableObject(stubOf(thread), (_, state) => state.abort("crash")).catch(() => {});
}

/** Defers a run in a store over the storage of the thread. */
function withDeferred(
  thread: TestThread,
  input: object,
  use: (store: ThreadStore, run_id: string, stored: () => number) => void,
) {
  const request = thread.order("echo", { input });
  return runInDurableObject(stubOf(thread), (_, { storage }) => {
    const store = new ThreadStore(storage);
    const plan = planRun(store, request);
    if (typeof plan === "string") throw new Error(plan);
    store.defer(() => store.runs.insert(request, plan.merged, store.thread.snapshot()));
    const stored = () => storage.sql.exec("SELECT run_id FROM runs").toArray().length;
    use(store, request.run_id, stored);
  });
}

test("a deferred run is written by the next transaction, and survives one that fails", async () => {
  await withDeferred(await testThread(), {}, (store, run_id, stored) => {
    expect([stored(), store.isDeferring]).toEqual([0, true]);
    const fail = () => {
      store.runs.start(run_id, "version");
      throw new Error("full");
    };
    expect(() => store.transaction(fail)).toThrow("full");
    expect([stored(), store.runs.get(run_id)?.status]).toEqual([0, "pending"]);
    store.transaction(() => store.runs.start(run_id, "version"));
    expect([stored(), store.isDeferring]).toEqual([1, false]);
    store.writeDeferred();
    expect([stored(), store.runs.queue.inFlight()]).toEqual([1, [run_id]]);
  });
});

test("a run whose input takes several rows is written at once", async () => {
  await withDeferred(await testThread(), { text: "x".repeat(1_100_000) }, (store, _, stored) =>
    expect([stored(), store.isDeferring]).toEqual([1, false]),
  );
});

test("a run that ends at once is one row, which is written with its end", async () => {
  const thread = await testThread();
  const defer = vi.spyOn(ThreadStore.prototype, "defer");
  onTestFinished(() => defer.mockRestore());
  const run_id = newId();
  await thread.wait("echo", { input: { messages: [] } }, run_id);
  expect(defer).toHaveBeenCalledTimes(1);
  await crash(thread);
  expect(await thread.object.getRun(run_id)).toMatchObject({ status: "success" });
});

test("a thread in an object that had others is written with its run, and survives a transaction that fails", async () => {
  const thread = await testThread();
  await runInDurableObject(stubOf(thread), (_, { storage }) => {
    const store = new ThreadStore(storage);
    expect(store.vacate(0, () => "null")).toBe(true);
    const place = { ...thread.place, thread_id: newId(), temporary: true };
    store.create(place, { canDefer: true });
    const stored = () => storage.sql.exec("SELECT thread_id FROM thread").toArray();
    expect([stored(), store.thread.id, store.isDeferring]).toEqual([[], place.thread_id, true]);
    const fail = () => {
      store.thread.markEnded();
      throw new Error("full");
    };
    expect(() => store.transaction(fail)).toThrow("full");
    expect([store.exists, store.thread.id, store.thread.endedAt()]).toEqual([
      ...[true, place.thread_id, null],
    ]);
    expect(new ThreadStore(storage).isVacant).toBe(true);
    store.writeDeferred();
    expect(stored()).toEqual([{ thread_id: place.thread_id }]);
    expect(new ThreadStore(storage).thread.id).toBe(place.thread_id);
  });
});

test("a transaction that fails at its end neither loses nor keeps values that wait for the next change", async () => {
  const thread = await testThread();
  await runInDurableObject(stubOf(thread), (_, { storage }) => {
    const store = new ThreadStore(storage);
    const failing = (work: () => void) => {
      vi.spyOn(store.runs.queue, "flush").mockImplementationOnce(() => {
        throw new Error("full");
      });
      expect(() => store.transaction(work)).toThrow("full");
    };
    const status = () => [store.thread.outline().status, store.thread.hasUnwrittenStart];
    failing(() => store.thread.startRun(thread.revision));
    expect(status()).toEqual(["idle", false]);
    store.transaction(() => store.thread.startRun(thread.revision));
    failing(() => store.thread.patch({ metadata: { lost: true } }));
    expect([...status(), store.thread.outline().metadata]).toEqual(["busy", true, {}]);
    store.transaction(() => store.thread.patch({ metadata: { kept: true } }));
    const { status: stored, metadata } = new ThreadStore(storage).thread.outline();
    expect([stored, metadata]).toEqual(["busy", { kept: true }]);
  });
});

/** Storage that refuses rows of runs, as an object does that is full. */
const FULL = "CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(FAIL, 'full'); END";

for (const [length, body] of Object.entries({ short: { input: { delay_ms: 0 } }, long: STEPS })) {
  test(`a ${length} run whose row storage refuses is dropped, and only its caller gets the error`, async () => {
    const thread = await testThread();
    await runInDurableObject(stubOf(thread), (_, { storage }) => void storage.sql.exec(FULL));
    const run_id = newId();
    await expect(thread.wait("steps", body, run_id)).rejects.toThrow("full");
    expect(await thread.object.getRun(run_id)).toBeNull();
    const waiting = expect(thread.wait("steps", body, run_id)).rejects.toThrow("full");
    expect(await thread.object.getThread()).toMatchObject({ status: "idle" });
    await waiting;
    await runInDurableObject(
      stubOf(thread),
      (_, { storage }) => void storage.sql.exec("DROP TRIGGER full"),
    );
    expect((await thread.wait("steps", STEPS, run_id)).log).toEqual(["a", "b", "c"]);
  });
}

test("a thread that storage refuses with its first run does not exist", async () => {
  const thread = await testThread();
  const request = thread.order("steps");
  await runInDurableObject(stubOf(thread), (_, { storage }) => {
    const store = new ThreadStore(storage);
    store.vacate(0, () => "null");
    store.create({ ...thread.place, thread_id: newId(), temporary: true }, { canDefer: true });
    const plan = planRun(store, request);
    if (typeof plan === "string") throw new Error(plan);
    store.defer(() => store.runs.insert(request, plan.merged, store.thread.snapshot()));
    storage.sql.exec(FULL);
    expect(() => store.writeDeferred()).toThrow("full");
    expect([store.exists, store.isVacant, store.isDeferring]).toEqual([false, true, false]);
  });
});

test("a thread that storage refuses does not exist, and can be created again", async () => {
  const thread = await testThread();
  await runInDurableObject(stubOf(thread), (_, { storage }) => {
    const store = new ThreadStore(storage);
    store.vacate(0, () => "null");
    const place = { ...thread.place, thread_id: newId(), temporary: true };
    storage.sql.exec(FULL.replaceAll("runs", "thread"));
    expect(() => store.create(place)).toThrow("full");
    expect(store.exists).toBe(false);
    storage.sql.exec("DROP TRIGGER full");
    store.create(place);
    expect(store.has(place.thread_id)).toBe(true);
  });
});

test("a run that is refused makes no thread", async () => {
  const thread = await testThread();
  const thread_id = newId();
  const stub = threadObject(env, thread.place.deployment_id, thread_id);
  const metadata = { text: "x".repeat(200_000) };
  const create_thread = { ...thread.place, thread_id, metadata };
  const run = { ...thread.order("steps"), create_thread, metadata: { more: metadata.text } };
  expect(await stub.waitRun(run, "continue")).toMatchObject({ ok: false, refusal: "too_large" });
  expect(await stub.getThread()).toBeNull();
});

test("a crash before the first write loses a run without an answer, whose request can be repeated", async () => {
  const thread = await testThread();
  // `abort` throws.
  const state = await runInDurableObject(stubOf(thread), (_, each) => each);
  const { defer } = ThreadStore.prototype;
  const crashing = vi.spyOn(ThreadStore.prototype, "defer").mockImplementationOnce(function (
    this: ThreadStore,
    accept,
  ) {
    defer.call(this, accept);
    state.abort("crash");
  });
  onTestFinished(() => crashing.mockRestore());
  const run_id = newId();
  await expect(thread.wait("steps", STEPS, run_id)).rejects.toThrow();
  expect(await thread.object.getRun(run_id)).toBeNull();
  expect(await thread.object.getThread()).toMatchObject({ status: "idle" });
  expect((await thread.wait("steps", STEPS, run_id)).log).toEqual(["a", "b", "c"]);
});

test("a second caller sees the run, which a crash does not lose then", async () => {
  const thread = await testThread();
  const run_id = newId();
  const waiting = thread.wait("steps", STEPS, run_id).catch(() => null);
  const following = await thread.object.followRun(run_id, EVERYTHING);
  expect(following).not.toBeNull();
  await following?.cancel();
  await crash(thread);
  await waiting;
  expect((await thread.join(run_id)).log).toEqual(["a", "b", "c"]);
});

test("a run that is queued behind a deferred one runs after it, also after a crash", async () => {
  const thread = await testThread();
  const first = thread.wait("steps", STEPS).catch(() => null);
  const { run_id } = await thread.create("steps", STEPS);
  await crash(thread);
  await first;
  expect((await thread.join(run_id)).log.join("")).toBe("abcabc");
});

test("two requests with one id have one run", async () => {
  const thread = await testThread();
  const run_id = newId();
  const answers = [1, 2].map(() => thread.wait("steps", STEPS, run_id));
  for (const { log } of await Promise.all(answers)) expect(log).toEqual(["a", "b", "c"]);
});

test("a stream does not wait for the end of a run whose graph took long the last time", async () => {
  const thread = await testThread();
  const defer = vi.spyOn(ThreadStore.prototype, "defer");
  onTestFinished(() => defer.mockRestore());
  const order = thread.order("steps");
  noteRun(order, { isShort: true });
  await thread.stream("steps", STEPS);
  expect([defer.mock.calls.length, isLongGraph(order)]).toEqual([1, true]);
  await thread.stream("steps", STEPS);
  expect([defer.mock.calls.length, isLongGraph(order)]).toEqual([1, true]);
});

test("a stream of a short run and one of a long run begin with the same events", async () => {
  const thread = await testThread();
  for (const delay_ms of [0, 50]) {
    const request = thread.order("steps", { input: { delay_ms }, stream_mode: "updates" });
    const accepted = await thread.object.streamRun(request, EVERYTHING);
    if (!accepted.ok) throw new Error(accepted.refusal);
    const events = await readEvents(await readText(accepted.events));
    expect(namesOf(events)).toEqual(["metadata", "updates", "updates", "updates"]);
    expect(events.map(({ id }) => id)).toEqual([0, 1, 2, 3]);
  }
});
