import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { EVERYTHING, namesOf, testThread } from "../../support/threads.ts";

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
  await vi.waitFor(async () => expect(await alarm()).toBeGreaterThan(Date.now() + 3_600_000));
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

test("a run that loses its isolate three times ends with IsolateLostError", async () => {
  const { place, object, create, join } = await testThread();
  const { run_id } = await create("steps", { input: { delay_ms: 5_000 } });
  for (let attempt = 1; attempt <= 3; attempt++) {
    await crash(place);
    await object.getRun(run_id);
  }
  expect((await join(run_id)).__error__).toMatchObject({ error: "IsolateLostError" });
  expect((await object.getThread())?.status).toBe("error");
});

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
  await new Response(accepted.stream).text();
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
