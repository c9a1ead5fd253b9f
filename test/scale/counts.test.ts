import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { idWithNumber } from "../../src/agent-server/threads/contract/shared-objects.ts";
import { DirectoryEntries } from "../../src/agent-server/threads/directory/entries.ts";
import type { DirectoryEntry } from "../../src/agent-server/threads/directory/entry.ts";
import { flushEntries } from "../../src/agent-server/threads/directory/publication.ts";
import { threadObject } from "../../src/agent-server/threads/object/stub.ts";
import { newId } from "../../src/shared/storage/ids.ts";
import { testDeployment } from "../support/agent-deployment.ts";
import { type CountedWork, countWork } from "../support/counted-work.ts";
import { expectCounts } from "../support/counts.ts";
import { directoryStub } from "../support/directory.ts";
import { eventually } from "../support/eventually.ts";
import { pendingTraces } from "../support/pending-traces.ts";
import { objectNameOf, ownRevision, readText, testThread } from "../support/threads.ts";
import { api, workspace } from "../support/workspace.ts";
import { batch, wireRun } from "../traces/support/runs.ts";

const ROUNDS = 3;
/** Three steps, each longer than the delay of deliveries: a model takes longer too. */
const STEPS = { input: { delay_ms: 1000 } };
const QUIET_MS = 1500;
/** A busy machine splits a delivery into two, and an answer from its run. */
const SPLIT = { trace_rows: 1, trace_requests: 1, thread_rows: 3, thread_requests: 1 };
const RUNS = 40;
const ENTRIES = 5000;

afterEach(() => {
  vi.restoreAllMocks();
});

type TestThread = Awaited<ReturnType<typeof testThread>>;

const stubOf = ({ deployment_id, thread_id }: TestThread["place"]) =>
  env.THREADS.getByName(objectNameOf(deployment_id, thread_id));

async function delivered(place: TestThread["place"]) {
  await eventually(() =>
    runInDurableObject(stubOf(place), (_, { storage }) => {
      expect(pendingTraces(storage.sql)).toBe(0);
    }),
  );
}

/** Waits until the traces are stored, their counts are published, and nothing more happens. */
async function settled(work: CountedWork) {
  let last = "";
  await eventually(
    () => {
      const before = last;
      // Other objects of the isolate read the feed too.
      last = JSON.stringify({ ...work, d1_reads: 0 });
      expect(work.trace_requests).toBeGreaterThan(0);
      expect(work.flushes).toBeGreaterThan(0);
      expect(last).toBe(before);
    },
    { interval: QUIET_MS },
  );
}

/** Work of a run: the median of each count, as a busy machine splits deliveries. */
async function countRuns(thread: TestThread, run: () => Promise<unknown>): Promise<CountedWork> {
  const { workspace_id } = thread.place;
  await thread.wait("echo", { input: { messages: [] } });
  const project = await eventually(async () => {
    const query = env.DB.prepare("SELECT id FROM projects WHERE workspace_id = ?");
    const row = await query.bind(workspace_id).first<{ id: string }>();
    return row?.id ?? expect.fail("The project does not exist yet");
  });
  const rounds: CountedWork[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const counted = await countWork([thread.place.deployment_id, project]);
    await run();
    counted.endOfRun();
    await settled(counted.work).finally(counted.stop);
    // The first round creates tables and caches.
    if (round > 0) rounds.push(counted.work);
  }
  return median(rounds);
}

function median(rounds: CountedWork[]): CountedWork {
  const [first] = rounds;
  if (!first) throw new Error("No rounds");
  const names = Object.keys(first) as (keyof CountedWork)[];
  const middle = Math.floor(rounds.length / 2);
  const of = (name: keyof CountedWork) =>
    rounds.map((round) => round[name]).sort((a, b) => a - b)[middle] ?? 0;
  return Object.fromEntries(names.map((name) => [name, of(name)])) as CountedWork;
}

/** Counts of a run in the file: those of the catalogue depend on the load of a project, not on the run. */
function ofRun(work: CountedWork) {
  const { thread_rows, thread_requests, trace_rows, trace_requests } = work;
  const { directory_requests, directory_rows, timer_ms: awake_ms_after } = work;
  const directory = { directory_requests, directory_rows };
  return { thread_rows, thread_requests, trace_rows, trace_requests, ...directory, awake_ms_after };
}

test("counts a run on a thread, each further step, and the alarm of its traces", async () => {
  const thread = await testThread(ownRevision());
  const short = await countRuns(thread, () => thread.wait("echo", { input: { messages: [] } }));
  const long = await countRuns(thread, () => thread.wait("steps", STEPS));
  await expectCounts("run_of_three_steps_on_a_thread", ofRun(long), SPLIT);
  const step = {
    thread_rows: (long.thread_rows - short.thread_rows) / 2,
    trace_rows: (long.trace_rows - short.trace_rows) / 2,
    trace_requests: (long.trace_requests - short.trace_requests) / 2,
  };
  await expectCounts("step", step, SPLIT);
  await expectCounts(
    "flush_of_a_partition",
    {
      rows: long.flush_rows / long.flushes,
      catalogue_writes: long.catalogue_writes / long.flushes,
      catalogue_rows: long.catalogue_rows / long.flushes,
    },
    { rows: 1 },
  );
}, 240_000);

test("counts a threadless run in an object that had one before", async () => {
  const thread = await testThread(ownRevision());
  const work = await countRuns(thread, async () => {
    const order = thread.order("steps", STEPS, idWithNumber(0));
    const place = { ...thread.place, thread_id: order.run_id, temporary: true };
    const kwargs = { ...order.kwargs, temporary: true };
    const object = threadObject(env, place.deployment_id, place.thread_id);
    const accepted = await object.waitRun({ ...order, create_thread: place, kwargs }, "continue");
    if (!accepted.ok) throw new Error(accepted.refusal);
    await readText(accepted.body);
    await delivered(place);
  });
  await expectCounts("threadless_run_of_three_steps", ofRun(work), SPLIT);
}, 120_000);

test("counts the creation of a thread, the rows of its tables included", async () => {
  const { place } = await testThread(ownRevision());
  await flushEntries(env);
  const counted = await countWork([place.deployment_id]);
  const thread_id = newId();
  await threadObject(env, place.deployment_id, thread_id).createThread({ ...place, thread_id });
  await flushEntries(env);
  const { thread_rows, thread_requests, directory_rows, directory_requests } = counted.stop();
  const created = { thread_rows, thread_requests, directory_rows, directory_requests };
  await expectCounts("new_thread", created);
});

/** Copies the entry of a thread. */
async function bytesOfEntry({ place }: TestThread): Promise<number> {
  await flushEntries(env);
  return runInDurableObject(directoryStub(place.deployment_id), (_, { storage }) => {
    const [row] = storage.sql.exec<DirectoryEntry>(
      "SELECT * FROM threads WHERE thread_id = ?",
      place.thread_id,
    );
    if (!row) throw new Error("The directory has no entry");
    const empty = storage.sql.databaseSize;
    storage.transactionSync(() => {
      const read_at = Date.now();
      const copies = Array.from({ length: ENTRIES }, () => ({
        ...row,
        thread_id: newId(),
        slot: 0,
        read_at,
      }));
      new DirectoryEntries(storage.sql).apply(copies);
    });
    return (storage.sql.databaseSize - empty) / ENTRIES;
  });
}

test("counts the bytes of a thread in the directory, and those of a run in its thread", async () => {
  const thread = await testThread(ownRevision());
  const sizeOfThread = async () => {
    await delivered(thread.place);
    return runInDurableObject(stubOf(thread.place), (_, state) => state.storage.sql.databaseSize);
  };
  await thread.wait("steps", STEPS);
  const before = await sizeOfThread();
  for (let n = 0; n < RUNS; n++) await thread.wait("steps", { input: { delay_ms: 1 } });
  await expectCounts("run_kept_in_a_thread", { bytes: ((await sizeOfThread()) - before) / RUNS });

  const bytes = await bytesOfEntry(thread);
  await expectCounts("thread_in_the_directory", { bytes });
}, 60_000);

const REQUESTS = 40;
const MS_BETWEEN_REQUESTS = 1100;

/** Deliveries of traces follow the real clock: how many a run has depends on the machine. */
const OF_DELIVERIES = /from "(partitions|projects)"/;

/** Statements of ours that an isolate sends to D1 in each second, with a request every 1.1 s. */
async function readsPerSecond(ids: string[], request: () => Promise<unknown>, leavesOut?: RegExp) {
  const start = Date.now();
  let passed = 0;
  vi.spyOn(Date, "now").mockImplementation(() => start + passed);
  await request();
  const counted = await countWork(ids, leavesOut);
  for (let n = 0; n < REQUESTS; n++) {
    passed += MS_BETWEEN_REQUESTS;
    await request();
  }
  return (counted.stop().d1_reads * 1000) / (REQUESTS * MS_BETWEEN_REQUESTS);
}

test("counts what an isolate reads from D1 in a second, for each deployment and project", async () => {
  const ours = await workspace();
  const { deployment_id } = await testDeployment(ours.workspace_id);
  const agent = `/agents/${deployment_id}`;
  const ids = [ours.workspace_id, deployment_id];
  const call = { key: ours.editor, json: {} };
  const { thread_id } = await (await api(`${agent}/threads`, call)).json<{ thread_id: string }>();
  const runs = await readsPerSecond(
    ids,
    async () => {
      const json = { assistant_id: "echo", input: { messages: [] } };
      const answer = await api(`${agent}/threads/${thread_id}/runs/wait`, { ...call, json });
      expect(answer.status).toBe(200);
      await answer.text();
    },
    OF_DELIVERIES,
  );
  const batches = await readsPerSecond(ids, async () => {
    const answer = await batch(ours.editor, [wireRun("counted")]);
    expect(answer.status).toBe(202);
  });
  const reads = { reads_of_runs: runs, reads_of_batches: batches };
  // An isolate that has run other tests was seen to read the feed twice for each request.
  await expectCounts("second_of_an_isolate", reads, { reads_of_runs: 1, reads_of_batches: 0.5 });
}, 60_000);

test("a hundred runs within a moment make at most ten statements of D1", async () => {
  const ours = await workspace();
  const { deployment_id } = await testDeployment(ours.workspace_id);
  const agent = `/agents/${deployment_id}`;
  const call = { key: ours.editor, json: {} };
  const { thread_id } = await (await api(`${agent}/threads`, call)).json<{ thread_id: string }>();
  const json = { assistant_id: "echo", input: { messages: [] } };
  const run = async (path: string) => {
    const answer = await api(`${agent}${path}/runs/wait`, { ...call, json });
    expect(answer.status).toBe(200);
    await answer.text();
  };
  await run(`/threads/${thread_id}`);
  await run("");
  // Later than the clocks of the tests above, by which the caches of this isolate were read.
  const now = Date.now() + 3_600_000;
  vi.spyOn(Date, "now").mockImplementation(() => now);
  await run("");
  const counted = await countWork([ours.workspace_id, deployment_id], OF_DELIVERIES);
  for (let n = 0; n < 50; n++) {
    await run(`/threads/${thread_id}`);
    await run("");
  }
  const { d1_reads, catalogue_writes } = counted.stop();
  expect(d1_reads + catalogue_writes).toBeLessThanOrEqual(10);
}, 60_000);
