import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { revisions } from "../../../src/control-plane/deployments/table.ts";
import { limitOf, rejectOnAbort, withinLimit } from "../../../src/isolate/agent/run-limit.ts";
import { database } from "../../../src/shared/context.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { EVERYTHING, readEvents, testThread } from "../../support/threads.ts";

/** A thread whose revision limits the duration of runs. */
async function limitedThread(seconds: string) {
  const thread = await testThread();
  const { revision_id, deployment_id } = thread.revision;
  const db = database(env);
  const [row] = await db.select().from(revisions).where(eq(revisions.id, revision_id));
  if (!row) throw new Error("no revision");
  const limited = newId();
  const config_env = { BG_JOB_TIMEOUT_SECS: seconds };
  await db
    .insert(revisions)
    .values({ ...row, id: limited, number: Math.floor(Math.random() * 1e9), config_env });
  const revision = { deployment_id, revision_id: limited, secrets_version: 1 };
  const stream = async (graph_id: string, body: Record<string, unknown>) => {
    const order = { ...thread.order(graph_id, body), revision };
    const answer = await thread.object.streamRun(order, EVERYTHING);
    if (!answer.ok) throw new Error(answer.refusal);
    return { run_id: order.run_id, events: await readEvents(answer.events) };
  };
  return { ...thread, stream };
}

describe("a run that takes longer than it may", () => {
  test("ends as timeout with what it has done, and the next one runs", async () => {
    const { object, stream } = await limitedThread("2");
    // The first call of a revision loads it.
    await stream("stalls", { input: { delay_ms: 0 } });
    const { run_id, events } = await stream("stalls", { input: { delay_ms: 60_000 } });
    const error = { error: "RunTimeoutError", message: expect.stringMatching(/longer than 2 sec/) };
    expect(events.at(-1)).toMatchObject({ event: "error", data: error });
    expect(await object.getRun(run_id)).toMatchObject({ status: "timeout", error });
    const thread = await object.getThread();
    expect(thread).toMatchObject({ status: "error", error, values: { log: ["a", "b", "a"] } });
    const listed = await object.listRuns({ status: "timeout", limit: 10, offset: 0 });
    expect(listed).toMatchObject({ ok: true, runs: [{ status: "timeout" }] });
    const next = await stream("stalls", { input: { delay_ms: 0 } });
    expect(next.events.at(-1)?.data).toMatchObject({ log: ["a", "b", "a", "a", "b"] });
    expect((await object.getThread())?.status).toBe("idle");
  });

  test("keeps what it has done with durability exit as well", async () => {
    const { object, stream } = await limitedThread("2");
    await stream("stalls", { input: { delay_ms: 0 } });
    const input = { delay_ms: 60_000, log: ["given"] };
    const { run_id } = await stream("stalls", { input, durability: "exit" });
    expect((await object.getRun(run_id))?.status).toBe("timeout");
    const values = { log: ["a", "b", "given", "a"] };
    expect(await object.getThread()).toMatchObject({ status: "error", values });
  });

  test("is ended whether or not it handles the signal, and receives the signal", async () => {
    const { object, stream } = await limitedThread("0.5");
    for (const graph_id of ["talks", "plain"]) {
      const { run_id } = await stream(graph_id, { input: { wait_ms: 60_000 } });
      expect((await object.getRun(run_id))?.status).toBe("timeout");
    }
  });
});

test("a run that is tried again has no more time for it", async () => {
  const never = new Promise(() => {});
  const start = new Date(Date.now() - 5_000).toISOString();
  const late = () => {};
  await expect(withinLimit(never, { start, seconds: 5 }, late)).rejects.toThrow("5 seconds");
  await expect(withinLimit(Promise.resolve(1), { start, seconds: 0 }, late)).resolves.toBe(1);
});

test.each([
  [undefined, 3600],
  ["", 3600],
  ["soon", 3600],
  ["-1", 3600],
  ["0", 0],
  [" 90 ", 90],
])("BG_JOB_TIMEOUT_SECS=%s is %i seconds", (BG_JOB_TIMEOUT_SECS, seconds) => {
  expect(limitOf({ ...(BG_JOB_TIMEOUT_SECS !== undefined && { BG_JOB_TIMEOUT_SECS }) })).toBe(
    seconds,
  );
});

test("a cancellation before the wait for it and during it reject alike", async () => {
  await expect(rejectOnAbort(AbortSignal.abort())).rejects.toThrow("The run was cancelled.");
  const controller = new AbortController();
  const waiting = rejectOnAbort(controller.signal);
  controller.abort();
  await expect(waiting).rejects.toThrow("The run was cancelled.");
});
