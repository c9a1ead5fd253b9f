import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { toStream } from "../../../src/agent-server/threads/api/run-http.ts";
import {
  avoidObject,
  idWithNumber,
  newTemporaryId,
  sharedObjectOf,
} from "../../../src/agent-server/threads/contract/shared-objects.ts";
import { Settling } from "../../../src/agent-server/threads/object/loop/settling.ts";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { threadObject, threadWithFilters } from "../../../src/agent-server/threads/object/stub.ts";
import type { ThreadCalls } from "../../../src/agent-server/threads/object/thread-calls.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { pendingTraces } from "../../support/pending-traces.ts";
import {
  EVERYTHING,
  objectNameOf,
  ownRevision,
  readEvents,
  readText,
  testThread,
} from "../../support/threads.ts";
import { api, workspace } from "../../support/workspace.ts";

const NUMBER = 7;
const SAY = { messages: [{ role: "user", content: "hi" }] };

/** The raw stub: the test helpers of the runtime want it, not its typed calls. */
function stubOf(name: string) {
  return env.THREADS.getByName(name) as DurableObjectStub<ThreadObject>;
}

/** Temporary threads of a deployment whose ids name one object. */
async function sharedObject() {
  const { place, order } = await testThread(ownRevision());
  const { deployment_id } = place;
  const name = objectNameOf(deployment_id, idWithNumber(NUMBER));
  const begin = async (graph_id: string, body: object, metadata = {}) => {
    const run_id = idWithNumber(NUMBER);
    const run = order(graph_id, { ...body }, run_id);
    const create_thread = { ...place, thread_id: run_id, metadata, temporary: true };
    const request = { ...run, create_thread, kwargs: { ...run.kwargs, temporary: true } };
    const object = threadObject(env, deployment_id, run_id);
    const accepted = await object.streamRun(request, EVERYTHING);
    if (!accepted.ok) throw new Error(accepted.refusal);
    return { run_id, object, stream: toStream(accepted.events) };
  };
  const run = async (graph_id = "echo", body: object = { input: SAY }, metadata = {}) => {
    const begun = await begin(graph_id, body, metadata);
    const events = await readEvents(begun.stream);
    return { ...begun, events };
  };
  const follow = async (thread_id: string, run_id = thread_id, after = -1) => {
    const thread = threadObject(env, deployment_id, thread_id);
    const stream = await thread.followRun(run_id, { ...EVERYTHING, after });
    return stream && readEvents(stream);
  };
  const delivered = () =>
    eventually(async () => {
      const read = (_: ThreadObject, { storage }: DurableObjectState) => pendingTraces(storage.sql);
      expect(await runInDurableObject(stubOf(name), read)).toBe(0);
    });
  const hosted = () =>
    runInDurableObject(stubOf(name), (_, { storage }) =>
      storage.sql.exec<{ thread_id: string }>("SELECT thread_id FROM thread").one(),
    );
  return { deployment_id, name, begin, run, follow, delivered, hosted };
}

test("a temporary thread has the object of one that is over, whose reader can reconnect", async () => {
  const { run, follow, delivered, hosted } = await sharedObject();
  const first = await run();
  await delivered();
  const second = await run();
  expect(await hosted()).toEqual({ thread_id: second.run_id });
  expect(await follow(first.run_id)).toEqual(first.events);
  expect(await follow(first.run_id, first.run_id, 0)).toEqual(first.events.slice(1));
  expect(await follow(second.run_id)).toEqual(second.events);
  expect(await first.object.hasRun(first.run_id)).toBe(true);
  expect(second.events[0]).toMatchObject({ id: 0, data: { run_id: second.run_id } });
});

test("the result of a temporary run can be joined after its end, also when its object has another", async () => {
  const { run, follow, delivered } = await sharedObject();
  const joined = async ({ object, run_id }: { object: ThreadCalls; run_id: string }) => {
    const stream = await object.joinRun(run_id, false);
    return stream && JSON.parse((await readText(stream)).trim());
  };
  const first = await run();
  const result = await joined(first);
  expect(result.messages.length).toBeGreaterThan(1);
  await delivered();
  const failing = await run("fails", { input: { log: [] } });
  expect(await joined(first)).toEqual(result);
  const error = await joined(failing);
  expect(error).toMatchObject({ __error__: { message: "the node broke" } });
  await delivered();
  const brief = await run("echo", { input: SAY, stream_mode: "updates" });
  expect(await joined(failing)).toEqual(error);
  const final = await joined(brief);
  expect(final.messages.length).toBeGreaterThan(1);
  await delivered();
  const waiting = await run("ask", { input: { log: [] } });
  expect(await joined(brief)).toEqual(final);
  expect(await follow(brief.run_id)).toEqual(brief.events);
  const question = await joined(waiting);
  expect(question).toMatchObject({ __interrupt__: [{}] });
  await delivered();
  await run();
  expect(await joined(waiting)).toEqual(question);
});

test("the stream of a temporary thread has the last events of its run", async () => {
  const { begin } = await sharedObject();
  const { object, stream } = await begin("steps", { input: { delay_ms: 100 } });
  const all = await object.followThread({ after: 0, modes: ["run_modes", "lifecycle"] });
  if (!all) throw new Error("The thread has no stream.");
  const [events, ofThread] = await Promise.all([readEvents(stream), readEvents(all)]);
  const names = ofThread.map(({ event }) => event);
  expect(names.filter((name) => name !== "lifecycle")).toEqual(events.map(({ event }) => event));
  expect(ofThread.at(-1)).toMatchObject({ data: { event: "completed" } });
});

test("threads of one object do not see each other", async () => {
  const { run, begin, follow, delivered } = await sharedObject();
  const first = await run();
  await delivered();
  const second = await begin("steps", { input: { delay_ms: 200 } });
  expect(await follow(first.run_id, second.run_id)).toBeNull();
  expect(await follow(second.run_id, first.run_id)).toBeNull();
  expect(await first.object.hasRun(second.run_id)).toBe(false);
  expect(await first.object.getRun(second.run_id)).toBeNull();
  expect(await first.object.getThread()).toBeNull();
  const still = { wait: true, reason: null };
  expect(await first.object.cancelRun(second.run_id, "interrupt", still)).toBe(false);
  expect(await first.object.deleteThread()).toBe(false);
  expect(await second.object.getRun(second.run_id)).toMatchObject({ status: "running" });
  const ids = (await readEvents(second.stream)).flatMap(({ data }) => JSON.stringify(data));
  expect(ids.join("")).not.toContain(first.run_id);
});

test("filters apply to the metadata of the thread that was in the object", async () => {
  const { deployment_id, run, delivered } = await sharedObject();
  const first = await run("echo", { input: SAY }, { owner: "anna" });
  await delivered();
  await run("echo", { input: SAY }, { owner: "ben" });
  const as = (owner: string) =>
    threadWithFilters(env, deployment_id, first.run_id, { owner: { eq: owner } }).hasRun(
      first.run_id,
    );
  expect(await as("anna")).toBe(true);
  expect(await as("ben")).toBe(false);
});

describe("a thread has its own object", () => {
  test("while another one is under way", async () => {
    const { begin, run, follow, hosted } = await sharedObject();
    const slow = await begin("steps", { input: { delay_ms: 300 } });
    const other = await run();
    expect(await hosted()).toEqual({ thread_id: slow.run_id });
    expect(await follow(other.run_id)).toEqual(other.events);
    expect(await readEvents(slow.stream)).toEqual(await follow(slow.run_id));
  });

  test("while the other one is read", async () => {
    const { run, follow, delivered, hosted, deployment_id } = await sharedObject();
    const first = await run();
    await delivered();
    const thread = threadObject(env, deployment_id, first.run_id);
    const reader = await thread.followRun(first.run_id, EVERYTHING);
    const second = await run();
    expect(await hosted()).toEqual({ thread_id: first.run_id });
    expect(await follow(second.run_id)).toEqual(second.events);
    expect(await readEvents(reader ?? new ReadableStream())).toEqual(first.events);
    await run();
    expect(await hosted()).not.toEqual({ thread_id: first.run_id });
  });

  test("after a run with many events, which stay", async () => {
    const { run, follow, delivered, hosted } = await sharedObject();
    const text = "x".repeat(200_000);
    const long = await run("echo", {
      input: { messages: [{ role: "user", content: text }] },
      stream_mode: ["values", "updates"],
    });
    await delivered();
    await run();
    expect(await hosted()).toEqual({ thread_id: long.run_id });
    expect(await follow(long.run_id)).toEqual(long.events);
  });
});

test("a crash after a rollback does not keep the object from the next thread", async () => {
  const { name, begin } = await sharedObject();
  const { object, run_id, stream } = await begin("steps", { input: { delay_ms: 60_000 } });
  const settling = vi.spyOn(Settling.prototype, "start").mockImplementation(() => {});
  onTestFinished(() => settling.mockRestore());
  const now = { wait: false, reason: null };
  expect(await object.cancelRun(run_id, "rollback", now)).toBe(true);
  await runInDurableObject(stubOf(name), (_, { storage }) => storage.sync());
  await stream.cancel();
  await runInDurableObject(stubOf(name), (_, state) => state.abort("crash")).catch(() => {});
  settling.mockRestore();
  await runDurableObjectAlarm(stubOf(name));
  await eventually(async () => {
    const read = (_: ThreadObject, { storage }: DurableObjectState) =>
      storage.sql.exec("SELECT ended_at FROM thread").one();
    expect(await runInDurableObject(stubOf(name), read)).toEqual({ ended_at: expect.any(Number) });
  });
});

test("a crash of the object ends neither its thread nor what is left of the one before", async () => {
  const { name, run, begin, follow, delivered } = await sharedObject();
  const first = await run();
  await delivered();
  const second = await begin("steps", { input: { delay_ms: 150 } });
  const reader = second.stream.getReader();
  let text = "";
  while (!text.includes('"a"')) text += new TextDecoder().decode((await reader.read()).value);
  reader.cancel().catch(() => {});
  await runInDurableObject(stubOf(name), (_, state) => state.abort("crash")).catch(() => {});
  expect(await follow(first.run_id)).toEqual(first.events);
  const events = await follow(second.run_id);
  expect(events?.filter(({ event }) => event === "metadata")).toHaveLength(2);
  expect(events?.at(-1)?.data).toMatchObject({ log: ["a", "b", "c"] });
});

test("the deletion of a thread leaves the runs of the one before, and then the object is empty", async () => {
  const { name, run, begin, follow, delivered } = await sharedObject();
  const first = await run();
  await delivered();
  const second = await begin("steps", { input: { delay_ms: 60_000 } });
  expect(await second.object.deleteThread()).toBe(true);
  await readText(second.stream);
  expect(await follow(second.run_id)).toBeNull();
  expect(await second.object.getThread()).toBeNull();
  expect(await follow(first.run_id)).toEqual(first.events);
  await delivered();
  await runInDurableObject(stubOf(name), (_, { storage }) => {
    storage.sql.exec("UPDATE thread SET ended_at = ended_at - 3600000");
    storage.sql.exec("UPDATE ended_runs SET ended_at = ended_at - 3600000");
  });
  await runInDurableObject(stubOf(name), (_, state) => state.abort("crash")).catch(() => {});
  await runDurableObjectAlarm(stubOf(name));
  const tables = await runInDurableObject(stubOf(name), (_, { storage }) =>
    storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'thread'").toArray(),
  );
  expect(tables).toEqual([]);
});

test("a run that ended is gone once its thread is deleted, also while the object stays", async () => {
  const { run, follow, delivered } = await sharedObject();
  const first = await run();
  await delivered();
  const second = await run();
  await second.object.deleteThread();
  expect(await second.object.hasRun(second.run_id)).toBe(false);
  expect(await second.object.joinRun(second.run_id, false)).toBeNull();
  expect(await follow(first.run_id)).toEqual(first.events);
});

test("a run that ended two minutes ago is gone, also while its object has a long one", async () => {
  const { name, run, begin, follow, delivered } = await sharedObject();
  const first = await run();
  await delivered();
  const second = await begin("steps", { input: { delay_ms: 60_000 } });
  await runInDurableObject(stubOf(name), (_, { storage }) => {
    storage.sql.exec("UPDATE ended_runs SET ended_at = ended_at - 121000");
  });
  await runDurableObjectAlarm(stubOf(name));
  expect(await follow(first.run_id)).toBeNull();
  expect(await second.object.getRun(second.run_id)).toMatchObject({ status: "running" });
  await second.object.deleteThread();
  await readText(second.stream);
});

test("runs that follow each other leave no more objects", async () => {
  const ours = await workspace();
  const { deployment_id } = await testDeployment(ours.workspace_id);
  const json = { assistant_id: "echo", input: SAY };
  const run = async () => {
    const answer = await api(`/agents/${deployment_id}/runs/wait`, { key: ours.editor, json });
    expect(answer.status).toBe(200);
    await answer.text();
  };
  // The first rounds make as many objects as have runs at once, and while traces are delivered.
  await eventually(async () => {
    const before = (await listDurableObjectIds(env.THREADS)).length;
    for (let n = 0; n < 20; n++) await run();
    expect(await listDurableObjectIds(env.THREADS)).toHaveLength(before);
  });
});

describe("the ids of temporary threads", () => {
  test("name few objects for runs that follow each other, and one each for those at once", () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      const deployment_id = newId();
      const numberOf = () => sharedObjectOf(newTemporaryId(deployment_id));
      const later = () => {
        vi.advanceTimersByTime(1000);
        return numberOf();
      };
      const one = numberOf();
      expect(new Set(Array.from({ length: 20 }, later))).toEqual(new Set([one]));
      vi.advanceTimersByTime(1000);
      const atOnce = Array.from({ length: 300 }, numberOf);
      expect(new Set(atOnce.filter((number) => number !== null)).size).toBe(256);
      expect(atOnce.slice(256)).toEqual(new Array(44).fill(null));
      vi.advanceTimersByTime(1000);
      avoidObject(deployment_id, one ?? -1);
      expect(numberOf()).toBe(((one ?? 0) + 1) % 1024);
    } finally {
      vi.useRealTimers();
    }
  });

  test("differ from all others", () => {
    const others = Array.from({ length: 2000 }, newId);
    expect(others.filter((id) => sharedObjectOf(id) !== null)).toEqual([]);
    expect(Array.from({ length: 50 }, (_, n) => sharedObjectOf(idWithNumber(n)))).toEqual([
      ...Array.from({ length: 50 }).keys(),
    ]);
  });
});
