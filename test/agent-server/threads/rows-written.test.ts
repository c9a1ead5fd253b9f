import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { idWithNumber } from "../../../src/agent-server/threads/contract/shared-objects.ts";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { Followers } from "../../../src/agent-server/threads/object/readers/followers.ts";
import { threadObject } from "../../../src/agent-server/threads/object/stub.ts";
import { ensureTracingProject } from "../../../src/control-plane/deployments/api/service.ts";
import { systemContext } from "../../support/deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { pendingTraces } from "../../support/pending-traces.ts";
import { countedExec } from "../../support/rows-written.ts";
import { objectNameOf, ownRevision, readText, testThread } from "../../support/threads.ts";

type TestThread = Awaited<ReturnType<typeof testThread>>["place"];

const DAY_MS = 24 * 60 * 60 * 1000;

/** The databases of a thread and of its traces, those of tomorrow too: the test may run at midnight. */
async function databasesOf({ workspace_id, deployment_id, thread_id }: TestThread) {
  const project_id = await ensureTracingProject(systemContext(workspace_id), deployment_id);
  const days = [0, DAY_MS].map((ms) => new Date(Date.now() + ms).toISOString().slice(0, 10));
  const partitions = days.map((day) => env.PARTITIONS.getByName(`${project_id}/${day}/0`));
  const stubs = [env.THREADS.getByName(`${deployment_id}/${thread_id}`), ...partitions];
  return Promise.all(
    stubs.map((stub) =>
      runInDurableObject(stub as DurableObjectStub<ThreadObject>, (_, { storage }) => storage.sql),
    ),
  );
}

/** A run that takes longer than 20 ms is written when it is accepted, too: here, none does on a busy machine. */
const PATIENT_MS = 10_000;

beforeEach(() => {
  const { isOverWithin } = Followers.prototype;
  vi.spyOn(Followers.prototype, "isOverWithin").mockImplementation(function (this: Followers, id) {
    return isOverWithin.call(this, id, PATIENT_MS);
  });
});
afterEach(() => void vi.restoreAllMocks());

/** Counts rows that databases write: objects share an isolate with the tests. `stop` returns rows by statement. */
function countRows(databases: SqlStorage[]) {
  const prototype = Object.getPrototypeOf(databases[0]);
  const { exec } = prototype;
  const rows: Record<string, number> = {};
  const add = (statement: string, written: number) => {
    const name = statement.trim().split(/\s+/, 3).join(" ").replace(/_\d+$/, "");
    if (written > 0) rows[name] = (rows[name] ?? 0) + written;
  };
  prototype.exec = countedExec(exec, (sql) => (databases.includes(sql) ? add : null));
  const stop = () => {
    prototype.exec = exec;
    return rows;
  };
  return { rows, stop };
}

test("a traced run on a thread writes at most 8 rows, those of its trace included", async () => {
  const thread = await testThread(ownRevision());
  const databases = await databasesOf(thread.place);
  const run = () => thread.wait("echo", { input: { messages: [{ role: "user", content: "hi" }] } });
  const { deployment_id, thread_id } = thread.place;
  const stub = env.THREADS.getByName(`${deployment_id}/${thread_id}`);
  const waitForDelivery = (rows: Record<string, number>) =>
    eventually(async () => {
      expect(rows).toHaveProperty("INSERT INTO small_segments");
      expect(await runInDurableObject(stub, (_, { storage }) => pendingTraces(storage.sql))).toBe(
        0,
      );
    });

  const first = countRows(databases);
  await run();
  await waitForDelivery(first.rows);
  first.stop();

  // On a busy machine the isolate sends the steps of a run one by one.
  await eventually(async () => {
    const counted = countRows(databases);
    await run();
    await waitForDelivery(counted.rows);
    const rows = counted.stop();
    expect(rows).toHaveProperty("INSERT INTO checkpoints");
    expect(Object.values(rows).reduce((sum, n) => sum + n, 0)).toBeLessThanOrEqual(8);
  });
});

test("the tables of a thread with a short run write 8 rows, and its first long value 8 more", async () => {
  const { place, order } = await testThread(ownRevision());
  const run = order("echo", { input: { messages: [] } });
  const create_thread = { ...place, thread_id: run.run_id };
  const object = threadObject(env, place.deployment_id, run.run_id);
  const [sql] = await databasesOf(create_thread);
  if (!sql) throw new Error("The thread has no database");
  const counted = countRows([sql]);
  const accepted = await object.waitRun({ ...run, create_thread }, "continue");
  if (!accepted.ok) throw new Error(accepted.refusal);
  await readText(accepted.body);
  const created = () =>
    Object.entries(counted.rows)
      .filter(([statement]) => statement.startsWith("CREATE"))
      .reduce((sum, [, rows]) => sum + rows, 0);
  expect(created()).toBe(8);
  const long = order("echo", {
    input: { messages: [{ role: "user", content: "x".repeat(9000) }] },
  });
  const next = await object.waitRun(long, "continue");
  if (!next.ok) throw new Error(next.refusal);
  await readText(next.body);
  await eventually(() => expect(created()).toBe(16));
  counted.stop();
});

test("a threadless run in an object that had others before writes at most 14 rows there", async () => {
  const { place, order } = await testThread(ownRevision());
  const run = async () => {
    const thread_id = idWithNumber(0);
    const { kwargs, ...request } = order("echo", { input: { messages: [] } }, thread_id);
    const create_thread = { ...place, thread_id, temporary: true };
    const object = threadObject(env, place.deployment_id, thread_id);
    const accepted = await object.waitRun(
      { ...request, create_thread, kwargs: { ...kwargs, temporary: true } },
      "continue",
    );
    if (!accepted.ok) throw new Error(accepted.refusal);
    await readText(accepted.body);
    const stub = env.THREADS.getByName(objectNameOf(place.deployment_id, thread_id));
    return runInDurableObject(stub as DurableObjectStub<ThreadObject>, (_, { storage }) =>
      eventually(() => {
        expect(pendingTraces(storage.sql)).toBe(0);
        return storage.sql;
      }),
    );
  };
  await run();
  // On a busy machine the isolate sends the steps of a run one by one.
  await eventually(async () => {
    const counted = countRows([await run()]);
    await run();
    const rows = counted.stop();
    expect(rows).toHaveProperty("INSERT OR REPLACE");
    expect(Object.values(rows).reduce((sum, n) => sum + n, 0)).toBeLessThanOrEqual(14);
  });
});

test("a run that has just ended is not read again for its result", async () => {
  const thread = await testThread();
  const stub = env.THREADS.getByName(`${thread.place.deployment_id}/${thread.thread_id}`);
  const run = () => thread.wait("echo", { input: { messages: [] } });
  await run();
  const sql = await runInDurableObject(
    stub as DurableObjectStub<ThreadObject>,
    (_, state) => state.storage.sql,
  );
  const exec = vi.spyOn(Object.getPrototypeOf(sql), "exec");
  onTestFinished(() => exec.mockRestore());
  await run();
  const reads = exec.mock.calls.filter(
    ([query], n) =>
      exec.mock.contexts[n] === sql && String(query).startsWith("SELECT * FROM runs WHERE run_id"),
  );
  // A request may come twice: its id is looked for once.
  expect(reads).toHaveLength(1);
});
