import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { CancelChoice } from "../../../src/agent-server/threads/contract/records.ts";
import { ThreadStore } from "../../../src/agent-server/threads/object/storage/store.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { eventually } from "../../support/eventually.ts";
import { streamUntil, testThread } from "../../support/threads.ts";
import { workspace } from "../../support/workspace.ts";

type Thread = Awaited<ReturnType<typeof testThread>>;

const CANCEL = { wait: true, reason: null };
const CLEANED = ["finally", "listener", "started", "thread"];

let agent: Promise<{
  workspace_id: string;
  revision: Awaited<ReturnType<typeof testDeployment>>;
}>;
// A workspace that exists: the agent calls its server with the rights of the workspace.
beforeAll(() => {
  agent = workspace().then(async ({ workspace_id }) => {
    return { workspace_id, revision: await testDeployment(workspace_id) };
  });
});

/** Returns the notes of runs in the store, without the ids. */
async function notes(key: string): Promise<string[]> {
  const { wait } = await testThread(agent);
  const { answers } = await wait("stores", { input: { calls: [["search", ["cleanup", key]]] } });
  return (answers[0] as { key: string }[]).map((item) => item.key.split(" ")[0] ?? "").sort();
}

function waitForNotes(key: string, expected: string[]) {
  return eventually(async () => expect(await notes(key)).toEqual(expected), { interval: 250 });
}

async function putNote(key: string, name: string) {
  const { wait } = await testThread(agent);
  await wait("stores", { input: { calls: [["put", ["cleanup", key], name, {}]] } });
}

async function started({ create }: Thread, graph_id: string, input: object = {}) {
  const key = newId();
  const { run_id } = await create(graph_id, { input: { key, ...input } });
  await waitForNotes(key, ["started"]);
  return { key, run_id };
}

describe("a cancelled run", () => {
  test.each(["cleans_up", "cleans_up_plainly"])(
    "may clean up in its listeners and finally: %s",
    async (graph_id) => {
      const thread = await testThread(agent);
      const { key, run_id } = await started(thread, graph_id);
      await thread.object.cancelRun(run_id, "interrupt", CANCEL);
      expect((await thread.object.getRun(run_id))?.status).toBe("interrupted");
      await waitForNotes(key, CLEANED);
      const after = await thread.object.getThread();
      expect(after?.values ?? {}).not.toHaveProperty("log", ["late"]);
    },
  );

  test("does not delay the next run, and writes nothing into its state", async () => {
    const thread = await testThread(agent);
    const { key, run_id } = await started(thread, "cleans_up", { after: "next" });
    const next = await thread.create("steps", {
      input: { delay_ms: 0 },
      multitask_strategy: "interrupt",
    });
    expect((await thread.join(next.run_id)).log).toEqual(["a", "b", "c"]);
    // The next run ended while the cancelled one was still cleaning up.
    await putNote(key, "next");
    await waitForNotes(key, [...CLEANED, "next"].sort());
    expect((await thread.object.getThread())?.values).toMatchObject({ log: ["a", "b", "c"] });
    expect((await thread.object.getRun(run_id))?.status).toBe("interrupted");
  });

  test("may be cancelled twice, and lose its object in between", async () => {
    const thread = await testThread(agent);
    const { run_id } = await started(thread, "cleans_up");
    await Promise.all([1, 2].map(() => thread.object.cancelRun(run_id, "interrupt", CANCEL)));
    await crash(thread.place);
    await thread.object.cancelRun(run_id, "rollback", CANCEL);
    expect((await thread.object.getRun(run_id))?.status).toBe("interrupted");
    expect((await thread.wait("steps", { input: { delay_ms: 0 } })).log).toEqual(["a", "b", "c"]);
  });

  test("of a deleted thread cannot write to the store", async () => {
    const thread = await testThread(agent);
    const { key } = await started(thread, "cleans_up");
    expect(await thread.object.deleteThread()).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await notes(key)).toEqual(["started"]);
  });
});

describe.each(["async", "exit"])("a cancelled run with durability %s", (durability) => {
  async function stalled() {
    const thread = await testThread(agent);
    const body = { input: { delay_ms: 60_000 }, stream_mode: "updates", durability };
    const { run_id } = await thread.create("stalls", body);
    await streamUntil(thread.object, run_id, '"a"');
    return { ...thread, run_id };
  }

  test("keeps the steps that have ended", async () => {
    const { object, run_id } = await stalled();
    await object.cancelRun(run_id, "interrupt", CANCEL);
    expect((await object.getRun(run_id))?.status).toBe("interrupted");
    expect(await object.getThread()).toMatchObject({
      status: "interrupted",
      values: { log: ["a"] },
    });
  });

  test("keeps them for the run that interrupts it", async () => {
    const { create, join, object, run_id } = await stalled();
    const next = await create("stalls", {
      input: { delay_ms: 0 },
      multitask_strategy: "interrupt",
    });
    expect((await join(next.run_id)).log).toEqual(["a", "a", "b"]);
    expect((await object.getRun(run_id))?.status).toBe("interrupted");
  });

  test("stays cancelled when its object is lost at once", async () => {
    const { object, place, run_id } = await stalled();
    await object.cancelRun(run_id, "interrupt", { wait: false, reason: "enough" });
    await crash(place);
    expect(await object.getRun(run_id)).toMatchObject({
      status: "interrupted",
      cancel_reason: "enough",
    });
    await eventually(async () => expect((await object.getThread())?.status).toBe("interrupted"));
  });
});

async function crash({ deployment_id, thread_id }: { deployment_id: string; thread_id: string }) {
  const stub = env.THREADS.getByName(`${deployment_id}/${thread_id}`);
  await runInDurableObject(stub, (_, state) => state.abort("crash")).catch(() => {});
}

test("a cancellation that storage refuses fails, and its run is in progress", async () => {
  const thread = await testThread(agent);
  const { run_id } = await thread.create("steps", { input: { delay_ms: 60_000 } });
  const isStarted = async () =>
    expect((await thread.object.getRun(run_id))?.status).toBe("running");
  await eventually(isStarted);
  const refusing = vi.spyOn(ThreadStore.prototype, "transaction").mockImplementation(() => {
    throw new Error("database or disk is full");
  });
  onTestFinished(() => refusing.mockRestore());
  const options = { ...CANCEL, wait: false };
  await expect(thread.object.cancelRun(run_id, "interrupt", options)).rejects.toThrow("full");
  const choice: CancelChoice = { run_ids: [run_id], status: "all" };
  await expect(thread.object.cancelRuns(choice, "interrupt", "bulk")).rejects.toThrow("full");
  refusing.mockRestore();
  await isStarted();
  await thread.object.cancelRun(run_id, "interrupt", CANCEL);
  expect((await thread.object.getRun(run_id))?.status).toBe("interrupted");
});

describe("a run that ends before its work", () => {
  test("may finish it within five seconds", async () => {
    const thread = await testThread(agent);
    const key = newId();
    await thread.wait("leaves_work", { input: { key, after: "go" } });
    await putNote(key, "go");
    await waitForNotes(key, ["go", "later"]);
  });
});
