import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, onTestFinished, test } from "vitest";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import {
  openIsolate,
  setIsolateOpener,
} from "../../../src/control-plane/deployments/isolate/isolate.ts";
import { readRevisionCode } from "../../../src/control-plane/deployments/isolate/revision-code.ts";
import type { AgentEntrypoint } from "../../../src/isolate/contract.ts";
import { eventually } from "../../support/eventually.ts";
import { objectNameOf, ownRevision, streamUntil, testThread } from "../../support/threads.ts";

type Summarize = AgentEntrypoint["summarize"];

/** Replaces the first summaries that an agent makes of a thread. */
function replaceFirstSummary(
  replace: (make: () => ReturnType<Summarize>) => ReturnType<Summarize>,
  count = 1,
) {
  let left = count;
  setIsolateOpener((given, call) => {
    const isolate = openIsolate(given.LOADER, call, () => readRevisionCode(given, call.ref));
    const agent = isolate as unknown as AgentEntrypoint;
    const summarize: Summarize = async (...args) => {
      const make = async () => agent.summarize(...args);
      if (left === 0) return make();
      left -= 1;
      return replace(make);
    };
    return new Proxy(isolate, {
      get: (target, name) => {
        if (name === "summarize") return summarize;
        return (...args: unknown[]) => Reflect.get(target, name)(...args);
      },
    });
  });
  onTestFinished(() => setIsolateOpener(null));
}

/** Ends the object as a crash does: memory, calls and streams are gone, storage stays. */
async function crash(stub: DurableObjectStub<ThreadObject>) {
  await runInDurableObject(stub, (_, state) => state.abort("crash")).catch(() => {});
}

/** Holds back the first summary that an agent has made of a thread. */
function holdFirstSummary() {
  const made = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  replaceFirstSummary(async (make) => {
    const summary = await make();
    made.resolve();
    await released.promise;
    return summary;
  });
  return { made: made.promise, release: () => released.resolve() };
}

test("a cancelled run whose isolate is lost at its end leaves its state", async () => {
  const { object, create } = await testThread(ownRevision());
  replaceFirstSummary(async () => {
    throw new Error("The isolate was lost");
  });
  const body = { input: { delay_ms: 60_000 }, stream_mode: "updates" };
  const { run_id } = await create("stalls", body);
  await streamUntil(object, run_id, '"a"');
  await object.cancelRun(run_id, "interrupt", { wait: true, reason: null });
  expect(await object.getThread()).toMatchObject({
    status: "interrupted",
    values: { log: ["a"] },
  });
});

test("a run that begins and ends while its thread settles leaves its own state", async () => {
  const { object, create, join } = await testThread(ownRevision());
  const summary = holdFirstSummary();
  const { run_id } = await create("steps", { input: { delay_ms: 60_000 } });
  const hasBegun = async () => expect((await object.getRun(run_id))?.status).toBe("running");
  await eventually(hasBegun);
  await object.cancelRun(run_id, "interrupt", { wait: false, reason: null });
  await summary.made;
  const next = await create("steps", { input: { delay_ms: 0 } });
  const hasEnded = async () => expect((await object.getRun(next.run_id))?.status).toBe("success");
  await eventually(hasEnded);
  summary.release();
  // Answered once the thread is settled.
  expect((await join(next.run_id)).log).toEqual(["a", "b", "c"]);
  expect(await object.getThread()).toMatchObject({
    status: "idle",
    values: { log: ["a", "b", "c"] },
  });
});

test("the error of the last run stays when an older run is deleted, or a queued one is undone", async () => {
  const { object, create, join, wait } = await testThread(ownRevision());
  const older = await create("steps", { input: { delay_ms: 0 } });
  await join(older.run_id);
  await wait("fails", { input: { log: ["x"] } });
  const failed = await object.getThread();
  expect(failed).toMatchObject({ status: "error", error: { message: "the node broke" } });
  await object.deleteRun(older.run_id);
  expect(await object.getThread()).toMatchObject({ status: "error", error: failed?.error });
  const order = { input: { log: ["x"] }, after_seconds: 3600 };
  const queued = await create("fails", order);
  await object.cancelRun(queued.run_id, "rollback", { wait: true, reason: null });
  expect(await object.getThread()).toMatchObject({ status: "error", error: failed?.error });
});

test("a cancelled run whose state cannot be read leaves the thread busy until it can", async () => {
  const { object, create, place } = await testThread(ownRevision());
  replaceFirstSummary(() => Promise.reject(new Error("The isolate was lost")), 3);
  const body = { input: { delay_ms: 60_000 }, stream_mode: "updates" };
  const { run_id } = await create("stalls", body);
  await streamUntil(object, run_id, '"a"');
  await object.cancelRun(run_id, "interrupt", { wait: true, reason: null });
  expect((await object.getThread())?.status).toBe("busy");
  const stub = env.THREADS.getByName(objectNameOf(place.deployment_id, place.thread_id));
  await evictDurableObject(stub as DurableObjectStub<ThreadObject>);
  await eventually(async () =>
    expect(await object.getThread()).toMatchObject({
      status: "interrupted",
      values: { log: ["a"] },
    }),
  );
});

test("values of a run that the server ended are read after a restart", async () => {
  const { object, create, join, place } = await testThread(ownRevision());
  const values = { delay_ms: 60_000, log: ["given"] };
  const { run_id } = await create("steps", { input: values, stream_mode: "values" });
  await streamUntil(object, run_id, "given");
  replaceFirstSummary(() => Promise.reject(new Error("The isolate was lost")), 3);
  const stub = env.THREADS.getByName(
    objectNameOf(place.deployment_id, place.thread_id),
  ) as DurableObjectStub<ThreadObject>;
  await runInDurableObject(stub, (_, { storage }) => {
    storage.sql.exec("UPDATE runs SET attempt = 30");
  });
  await crash(stub);
  const error = { error: "IsolateLostError" };
  expect((await join(run_id)).__error__).toMatchObject(error);
  expect(await object.getThread()).toMatchObject({ status: "error", error, values: null });
  await crash(stub);
  await eventually(async () =>
    expect(await object.getThread()).toMatchObject({ status: "error", error, values }),
  );
});
