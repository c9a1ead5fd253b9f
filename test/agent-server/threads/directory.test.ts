import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import type { DirectoryChange } from "../../../src/agent-server/threads/directory/calls.ts";
import { countByStatus } from "../../../src/agent-server/threads/directory/directory.ts";
import { DirectoryObject } from "../../../src/agent-server/threads/directory/object.ts";
import {
  DIRECTORY_BATCHING,
  flushEntries,
} from "../../../src/agent-server/threads/directory/publication.ts";
import { systemContext } from "../../support/deployment.ts";
import { directoryRows } from "../../support/directory.ts";
import { eventually } from "../../support/eventually.ts";
import { testThread } from "../../support/threads.ts";

const { window_ms } = DIRECTORY_BATCHING;
afterEach(async () => {
  await flushEntries(env);
  DIRECTORY_BATCHING.window_ms = window_ms;
  vi.restoreAllMocks();
});

type TestThread = Awaited<ReturnType<typeof testThread>>;

const echo = (thread: TestThread) =>
  thread.wait("echo", { input: { messages: [{ role: "user", content: "hi" }] } });

const stubOf = ({ place }: TestThread) =>
  env.THREADS.getByName(`${place.deployment_id}/${place.thread_id}`);

const rowOf = async ({ place }: TestThread) =>
  (await directoryRows(place.deployment_id)).find((row) => row.thread_id === place.thread_id);

const statusOf = async (thread: TestThread) => {
  const row = await rowOf(thread);
  return row ? { status: row.status, state_updated_at: row.state_updated_at } : null;
};

/** Counts calls that publish these threads: objects of other tests share the isolate. */
function countPublications(...threads: TestThread[]) {
  const ids = threads.map(({ thread_id }) => thread_id);
  const publish = vi.spyOn(DirectoryObject.prototype, "publish");
  return () =>
    publish.mock.calls.filter(([changes]) =>
      changes.some((change) => !("is_removed" in change) && ids.includes(change.thread_id)),
    ).length;
}

test("a hundred runs take at most ten calls of the directory, and a reader finds each at once", async () => {
  const threads = await Promise.all(Array.from({ length: 10 }, () => testThread()));
  const { deployment_id, workspace_id } = threads[0]?.place ?? {
    deployment_id: "",
    workspace_id: "",
  };
  DIRECTORY_BATCHING.window_ms = 20_000;
  const writes = countPublications(...threads);
  for (let n = 0; n < 10; n++) await Promise.all(threads.map(echo));
  await eventually(async () => {
    const ctx = systemContext(workspace_id);
    await countByStatus(ctx, { deployment_id }, {});
    const found = await Promise.all(threads.map(statusOf));
    expect(found.every((row) => row?.status === "idle" && row.state_updated_at)).toBe(true);
  });
  expect(writes()).toBeGreaterThan(0);
  expect(writes()).toBeLessThanOrEqual(10);
}, 60_000);

test("a thread that is created is published before the answer", async () => {
  DIRECTORY_BATCHING.window_ms = 20_000;
  const thread = await testThread();
  expect(await statusOf(thread)).toMatchObject({ status: "idle" });
  await thread.object.patchThread({ a: 1 });
  expect((await rowOf(thread))?.metadata).toEqual({ a: 1 });
});

test("an update that was gathered when the object crashed is published by the alarm", async () => {
  const thread = await testThread();
  DIRECTORY_BATCHING.window_ms = 20_000;
  await echo(thread);
  expect(await statusOf(thread)).toMatchObject({ state_updated_at: null });
  await runInDurableObject(stubOf(thread), (_thread, state) => state.abort("crash")).catch(
    () => {},
  );
  DIRECTORY_BATCHING.window_ms = window_ms;
  expect(await runDurableObjectAlarm(stubOf(thread))).toBe(true);
  await eventually(async () => expect((await statusOf(thread))?.state_updated_at).toBeTruthy());
});

test("an idle thread is published once at most after a restart, not at each one", async () => {
  const thread = await testThread();
  await echo(thread);
  await eventually(async () => expect((await statusOf(thread))?.state_updated_at).toBeTruthy());
  const restart = async () => {
    await runInDurableObject(stubOf(thread), (_thread, state) => state.abort("crash")).catch(
      () => {},
    );
    await thread.object.getThread();
    const isStale = () =>
      runInDurableObject(stubOf(thread), (_thread, { storage }) => {
        const [row] = storage.sql
          .exec<{ stale: number }>("SELECT directory_sent < directory_seq AS stale FROM thread")
          .toArray();
        return row?.stale;
      });
    await eventually(async () => expect(await isStale()).toBe(0));
  };
  const writes = countPublications(thread);
  await restart();
  const first = writes();
  // The delivery of its traces may have stored that it is published.
  expect(first).toBeLessThanOrEqual(1);
  await restart();
  await flushEntries(env);
  expect(writes()).toBe(first);
});

test("a thread that is deleted while its update is gathered leaves no row", async () => {
  const thread = await testThread();
  DIRECTORY_BATCHING.window_ms = 20_000;
  await echo(thread);
  await thread.object.deleteThread();
  await flushEntries(env);
  expect(await statusOf(thread)).toBeNull();
});

/** Runs `before` ahead of each call that removes the entry of the thread. */
function beforeRemoval({ thread_id }: TestThread, before: () => Promise<void>) {
  const { publish } = DirectoryObject.prototype;
  vi.spyOn(DirectoryObject.prototype, "publish").mockImplementation(async function (
    this: DirectoryObject,
    changes,
  ) {
    const isRemoved = (change: DirectoryChange) =>
      "is_removed" in change && change.thread_id === thread_id;
    if (changes.some(isRemoved)) await before();
    return publish.call(this, changes);
  });
}

const tablesOf = (thread: TestThread) =>
  runInDurableObject(stubOf(thread), (_thread, { storage }) =>
    storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'checkpoints'").toArray(),
  );

test("a crash before the entry of a deleted thread is deleted is repaired by the alarm", async () => {
  const thread = await testThread();
  await echo(thread);
  beforeRemoval(thread, async () => {
    await runInDurableObject(stubOf(thread), (_thread, state) => state.abort("crash"));
  });
  await expect(thread.object.deleteThread()).rejects.toThrow("crash");
  vi.restoreAllMocks();
  expect(await statusOf(thread)).not.toBeNull();
  expect(await thread.object.getThread()).toBeNull();
  expect(await tablesOf(thread)).toHaveLength(1);
  expect(await runDurableObjectAlarm(stubOf(thread))).toBe(true);
  expect(await statusOf(thread)).toBeNull();
  expect(await tablesOf(thread)).toEqual([]);
});

test("a thread with the id of one that the directory could not remove is new, and keeps its entry", async () => {
  const thread = await testThread();
  await echo(thread);
  let fails = true;
  const waiting = Promise.withResolvers<void>();
  beforeRemoval(thread, async () => {
    if (fails) throw new Error("The directory is down");
    await waiting.promise;
  });
  expect(await thread.object.deleteThread()).toBe(true);
  fails = false;
  const alarm = runDurableObjectAlarm(stubOf(thread));
  expect(await thread.object.createThread(thread.place)).toMatchObject({ values: null });
  waiting.resolve();
  await alarm;
  expect(await thread.object.getThread()).toMatchObject({ values: null, status: "idle" });
  expect(await statusOf(thread)).toEqual({ status: "idle", state_updated_at: null });
});
