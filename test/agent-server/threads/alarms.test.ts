import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, onTestFinished, test, vi } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { ownRevision, testThread } from "../../support/threads.ts";

test("runs that follow each other share an alarm, which moves away once the thread is idle", async () => {
  // Runs that are not traced leave no outbox that waits for an alarm.
  const thread = await testThread(ownRevision({ LANGSMITH_TRACING: "false" }));
  const stub = env.THREADS.getByName(`${thread.place.deployment_id}/${thread.thread_id}`);
  const { storage, setAlarm } = await runInDurableObject(stub, (_thread, { storage }) => ({
    storage,
    setAlarm: vi.spyOn(Object.getPrototypeOf(storage), "setAlarm"),
  }));
  onTestFinished(() => setAlarm.mockRestore());
  const alarmOf = () => runInDurableObject(stub, (_thread, { storage }) => storage.getAlarm());
  for (let n = 0; n < 10; n++) await thread.wait("echo", { input: { messages: [] } });
  expect(await alarmOf()).not.toBeNull();
  const ownCalls = () => setAlarm.mock.contexts.filter((context) => context === storage).length;
  expect(ownCalls()).toBeLessThanOrEqual(5);
  await eventually(async () => expect(await alarmOf()).toBeGreaterThan(Date.now() + 3_600_000));
  expect(ownCalls()).toBeGreaterThan(0);
}, 60_000);
