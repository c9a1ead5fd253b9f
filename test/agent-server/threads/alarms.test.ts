import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
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

const HOUR_MS = 3_600_000;

/** A thread with a run that ended before. `change` alters its rows before the object restarts. */
async function threadWithOldRun(ago_ms: number, change: (sql: SqlStorage) => void = () => {}) {
  const thread = await testThread(ownRevision({ LANGSMITH_TRACING: "false" }));
  const stub = () => env.THREADS.getByName(`${thread.place.deployment_id}/${thread.thread_id}`);
  await thread.wait("echo", { input: { messages: [] } });
  const ended_at = Date.now() - ago_ms;
  const crash = runInDurableObject(stub(), async (_thread, state) => {
    state.storage.sql.exec("UPDATE runs SET ended_at = ?", ended_at);
    change(state.storage.sql);
    await state.storage.sync();
    state.abort("crash");
  });
  await crash.catch(() => {});
  return { ...thread, stub, ended_at };
}

test("the events of a thread that is used each day expire", async () => {
  const { wait, stub, ended_at } = await threadWithOldRun(20 * HOUR_MS);
  await wait("echo", { input: { messages: [] } });
  const alarmOf = () => runInDurableObject(stub(), (_thread, { storage }) => storage.getAlarm());
  await eventually(async () => expect(await alarmOf()).toBe(ended_at + 25 * HOUR_MS));
});

test("events of many runs expire without a pause", async () => {
  const { stub } = await threadWithOldRun(30 * HOUR_MS, (sql) => {
    const [run] = sql.exec("SELECT * FROM runs").toArray();
    for (let n = 1; n <= 250; n += 1) {
      const row = { ...run, run_id: `run ${n}`, seq: n + 1 };
      const marks = Object.keys(row).map(() => "?");
      sql.exec(`INSERT INTO runs VALUES (${marks.join(", ")})`, ...Object.values(row));
      sql.exec(
        `INSERT INTO events (last_id, run_id, count, events) VALUES (?, ?, 1, '[["custom","1"]]')`,
        1000 + n,
        row.run_id,
      );
    }
  });
  const countEvents = () =>
    runInDurableObject(stub(), (_thread, { storage }) =>
      storage.sql.exec("SELECT count(*) AS n FROM events WHERE count > 0").one(),
    );
  await runDurableObjectAlarm(stub());
  await eventually(async () => expect(await countEvents()).toEqual({ n: 0 }));
});
