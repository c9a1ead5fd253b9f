import { expect, onTestFinished, test, vi } from "vitest";
import { Parts } from "../../../src/agent-server/threads/object/log/parts.ts";
import { eventually } from "../../support/eventually.ts";
import { testThread } from "../../support/threads.ts";

/** For runs that a test ends. */
const endless = { input: { delay_ms: 600_000 } };
const slow = { input: { delay_ms: 1_500 } };
const quick = { input: { delay_ms: 0 } };

test("reject refuses a run while another is in flight, and changes nothing", async () => {
  const { object, create, order, join } = await testThread();
  const { run_id } = await create("steps", slow);
  const second = await object.createRun(order("steps", { ...quick, multitask_strategy: "reject" }));
  expect(second).toEqual({ ok: false, refusal: "busy" });
  const listed = await object.listRuns({ limit: 10, offset: 0 });
  expect(listed.ok && listed.runs).toHaveLength(1);
  expect((await join(run_id)).log).toEqual(["a", "b", "c"]);
});

test("interrupt stops the run in flight, and runs next", async () => {
  const { object, stream, create, join } = await testThread();
  await stream("steps", { ...quick, interrupt_before: ["b"] });
  const first = await create("steps", endless);
  const second = await create("steps", { ...quick, multitask_strategy: "interrupt" });
  expect((await join(second.run_id)).log.slice(-3)).toEqual(["a", "b", "c"]);
  expect((await object.getRun(first.run_id))?.status).toBe("interrupted");
  expect((await object.getRun(second.run_id))?.status).toBe("success");
});

test("rollback undoes the run in flight: its row, its events and its steps", async () => {
  const { object, wait, create, join, follow } = await testThread();
  await wait("steps", quick);
  const first = await create("steps", endless);
  const second = await create("steps", { ...quick, multitask_strategy: "rollback" });
  expect((await join(second.run_id)).log).toEqual(["a", "b", "c", "a", "b", "c"]);
  expect(await object.getRun(first.run_id)).toBeNull();
  await expect(follow(first.run_id)).rejects.toThrow("Run not found");
});

test("a run that was queued makes its graph that of the thread, and gives it back when undone", async () => {
  const { object, wait, create, join } = await testThread();
  await wait("steps", quick);
  const first = await create("steps", slow);
  const second = await create("echo", { input: { messages: [] } });
  await join(second.run_id);
  const graphOf = async () => (await object.getThread())?.metadata.graph_id;
  expect(await graphOf()).toBe("echo");
  const third = await create("echo", { input: { messages: [] } });
  const fourth = await create("steps", endless);
  await join(third.run_id);
  await eventually(async () => expect(await graphOf()).toBe("steps"));
  await object.cancelRun(fourth.run_id, "rollback", { wait: true, reason: null });
  expect(await graphOf()).toBe("echo");
  expect((await object.getRun(first.run_id))?.status).toBe("success");
});

test("a run beside a delayed one gives the thread back as it was before both", async () => {
  const { object, wait, create } = await testThread();
  await wait("steps", quick);
  const before = await object.getThread();
  const delayed = await create("echo", { input: { messages: [] }, after_seconds: 3600 });
  const running = await create("steps", endless);
  const status = async () => (await object.getRun(running.run_id))?.status;
  await eventually(async () => expect(await status()).toBe("running"));
  for (const { run_id } of [running, delayed]) {
    await object.cancelRun(run_id, "rollback", { wait: true, reason: null });
  }
  const after = await object.getThread();
  expect([after?.metadata, after?.config, after?.status]).toEqual([
    before?.metadata,
    before?.config,
    before?.status,
  ]);
});

test("a pending run that is cancelled never starts", async () => {
  const { object, create, join } = await testThread();
  const first = await create("steps", slow);
  const second = await create("steps", quick);
  const options = { wait: true, reason: null };
  expect(await object.cancelRun(second.run_id, "interrupt", options)).toBe(true);
  expect((await object.getRun(second.run_id))?.status).toBe("interrupted");
  expect((await join(first.run_id)).log).toEqual(["a", "b", "c"]);
  expect(await join(second.run_id)).toBeNull();
});

test("cancelling the running run frees the thread at once", async () => {
  const { object, create, follow } = await testThread();
  const { run_id } = await create("steps", { ...endless, stream_mode: "updates" });
  const events = follow(run_id);
  await object.cancelRun(run_id, "interrupt", { wait: true, reason: "taken: by hand" });
  expect(await object.getRun(run_id)).toMatchObject({
    status: "interrupted",
    cancel_reason: "taken: by hand",
  });
  expect((await object.getThread())?.status).not.toBe("busy");
  expect((await events).map(({ event }) => event)).toEqual(["metadata"]);
});

test("cancelling with rollback leaves the thread as it was before the run", async () => {
  const { object, wait, create, revision } = await testThread();
  const waiting = await wait("ask", { input: { log: [] } });
  const before = await object.getThread();
  const { run_id } = await create("steps", endless);
  await object.cancelRun(run_id, "rollback", { wait: true, reason: null });
  expect(await object.getRun(run_id)).toBeNull();
  const history = await object.getHistory(
    { ns: "", limit: 10, checkpoint_id: null, before_id: null, metadata: null },
    revision,
  );
  expect(JSON.stringify(history)).not.toContain(run_id);
  expect(waiting.__interrupt__).toHaveLength(1);
  const { status, values, interrupts } = before ?? expect.fail("The thread is missing");
  expect(await object.getThread()).toMatchObject({ status, values, interrupts });
});

test("a run that is over stays as it is when it is cancelled again", async () => {
  const { object, create, join } = await testThread();
  const { run_id } = await create("steps", quick);
  await join(run_id);
  expect(await object.cancelRun(run_id, "rollback", { wait: true, reason: null })).toBe(true);
  expect((await object.getRun(run_id))?.status).toBe("success");
});

test("a thread takes inputs of a bounded size together, and more once they are gone", async () => {
  const thread = await testThread();
  const input = { text: "x".repeat(340_000) };
  const order = () => ({ ...thread.order("echo", { input }), after_seconds: 3600 });
  const accepted: string[] = [];
  let refusal: string | null = null;
  while (refusal === null && accepted.length < 110) {
    const answer = await thread.object.createRun(order());
    if (answer.ok) accepted.push(answer.run.run_id);
    else refusal = answer.refusal;
  }
  expect([refusal, accepted.length > 90]).toEqual(["queue_full", true]);
  const choice = { run_ids: accepted.slice(0, 50), status: "all" as const };
  await thread.object.cancelRuns(choice, "interrupt", "none");
  expect(await thread.object.createRun(order())).toMatchObject({ ok: true });
});

/** An input that does not fit the row of its run. */
const large = { input: { text: "x".repeat(4 * 1024 * 1024) }, after_seconds: 3600 };

test("a queue counts the UTF-8 bytes of inputs", async () => {
  const { object, create, order } = await testThread();
  const text = "\u{20ac}".repeat(340_000);
  const small = { input: { text }, after_seconds: 3600 };
  for (let n = 0; n < 33; n += 1) await create("echo", small);
  expect(await object.createRun(order("echo"))).toEqual({ ok: false, refusal: "queue_full" });
});

test("a queue counts the bytes of large inputs", async () => {
  const { object, create, order } = await testThread();
  for (let n = 0; n < 8; n += 1) await create("echo", large);
  expect(await object.createRun(order("echo"))).toEqual({ ok: false, refusal: "queue_full" });
});

test("a rollback reads the inputs of the next and the newest run alone", async () => {
  const { object, create } = await testThread();
  const { run_id } = await create("echo", large);
  for (let n = 0; n < 3; n += 1) await create("echo", large);
  const text = vi.spyOn(Parts.prototype, "text");
  onTestFinished(() => text.mockRestore());
  await object.cancelRun(run_id, "rollback", { wait: true, reason: null });
  const names = text.mock.calls.map(([name]) => name).filter((name) => name.startsWith("kwargs "));
  expect(new Set(names).size).toBe(2);
});
