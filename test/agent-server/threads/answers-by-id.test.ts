import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import type { ThreadRecord } from "../../../src/agent-server/threads/contract/records.ts";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { Followers } from "../../../src/agent-server/threads/object/readers/followers.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { newStore, startRun } from "../../support/thread-storage.ts";
import { testThread } from "../../support/threads.ts";

type Thread = Awaited<ReturnType<typeof testThread>>;
type Waiting = { id: string; value: unknown };

async function waiting({ object }: Thread): Promise<Waiting[]> {
  const { interrupts } = (await object.getThread()) as ThreadRecord;
  return Object.values(interrupts).flat() as Waiting[];
}

/** Creates a run that answers interrupts by their ids. */
function answer({ object, order }: Thread, graph_id: string, ids: string[], more: object = {}) {
  const resume = Object.fromEntries(ids.map((id) => [id, `answer of ${id.slice(0, 4)}`]));
  return object.createRun(order(graph_id, { command: { resume }, ...more }));
}

test("an interrupt that was answered is refused, and the next one waits unanswered", async () => {
  const thread = await testThread();
  await thread.wait("interrupts_twice", { input: {} });
  const [first] = await waiting(thread);
  const id = first?.id ?? "";
  const answered = await answer(thread, "interrupts_twice", [id]);
  if (!answered.ok) throw new Error(answered.refusal);
  await thread.join(answered.run.run_id);
  const [second] = await waiting(thread);
  expect([first?.value, second?.value]).toEqual(["first?", "second?"]);
  if (second?.id !== id) {
    const late = await answer(thread, "interrupts_twice", [id]);
    expect(late).toEqual({ ok: false, refusal: "unknown_interrupt" });
  }
  expect(await waiting(thread)).toEqual([second]);
});

test("an answer for another run than the newest is refused, whatever the id", async () => {
  const thread = await testThread();
  const { run_id } = await thread.create("interrupts_twice", { input: {} });
  await thread.join(run_id);
  const [first] = await waiting(thread);
  const resume = { [first?.id ?? ""]: "yes" };
  const request = () => ({
    ...thread.order("interrupts_twice", { command: { resume } }),
    after_run_id: run_id,
  });
  const answered = await thread.object.createRun(request());
  if (!answered.ok) throw new Error(answered.refusal);
  await thread.join(answered.run.run_id);
  const late = await thread.object.createRun(request());
  expect(late).toEqual({ ok: false, refusal: "outdated" });
  const [second] = await waiting(thread);
  expect(second?.value).toBe("second?");
});

test("an id of nothing that waits is refused before and after a run", async () => {
  const thread = await testThread();
  const id = newId().replaceAll("-", "");
  const nothing = { ok: false, refusal: "no_pending_interrupt" };
  expect(await answer(thread, "ask", [id])).toEqual(nothing);
  await thread.wait("ask", { input: {} });
  expect(await answer(thread, "ask", [id])).toEqual({ ok: false, refusal: "unknown_interrupt" });
  const [question] = await waiting(thread);
  await thread.wait("ask", { command: { resume: { [question?.id ?? ""]: "yes" } } });
  expect(await answer(thread, "ask", [question?.id ?? ""])).toEqual(nothing);
});

test("two interrupts that wait at once are answered by two runs", async () => {
  const thread = await testThread();
  await thread.wait("interrupts_both", { input: {} });
  const ids = (await waiting(thread)).map(({ id }) => id);
  expect(ids).toHaveLength(2);
  const made = await Promise.all(ids.map((id) => answer(thread, "interrupts_both", [id])));
  expect(made.map(({ ok }) => ok)).toEqual([true, true]);
  const [, last] = made;
  if (!last?.ok) throw new Error("not accepted");
  await thread.join(last.run.run_id);
  expect(await waiting(thread)).toEqual([]);
});

test("an answer does not queue behind a run that answers the same interrupt", async () => {
  const thread = await testThread();
  await thread.wait("interrupts_twice", { input: {} });
  const [first] = await waiting(thread);
  const made = await Promise.all(
    [1, 2].map(() => answer(thread, "interrupts_twice", [first?.id ?? ""])),
  );
  expect(made.map((each) => (each.ok ? "accepted" : each.refusal)).toSorted()).toEqual([
    "accepted",
    expect.stringMatching(/_interrupt$/),
  ]);
});

test("a delayed run does not keep an interrupt from its answer, which comes before it", async () => {
  const thread = await testThread();
  await thread.wait("ask", { input: {} });
  const [question] = await waiting(thread);
  const later = await thread.create("ask", { input: {}, after_seconds: 3600 });
  const answered = await answer(thread, "ask", [question?.id ?? ""]);
  if (!answered.ok) throw new Error(answered.refusal);
  expect(await thread.join(answered.run.run_id)).not.toHaveProperty("__interrupt__");
  expect((await thread.object.getRun(later.run_id))?.status).toBe("pending");
});

test.each(["checkpoint_id", "checkpoint", "config"])(
  "an answer at an earlier checkpoint is not compared with what waits now: %s",
  async (form) => {
    const thread = await testThread();
    await thread.wait("ask", { input: {} });
    const [question] = await waiting(thread);
    const id = question?.id ?? "";
    const state = await thread.object.getState(
      { ns: "", checkpoint_id: null, subgraphs: false },
      thread.revision,
    );
    const { checkpoint_id } = JSON.parse(state.ok ? state.value : "{}").checkpoint;
    await thread.wait("ask", { command: { resume: { [id]: "yes" } } });
    const places = {
      checkpoint_id: { checkpoint_id },
      checkpoint: { checkpoint: { checkpoint_id } },
      config: { config: { configurable: { checkpoint_id } } },
    };
    const place = places[form as keyof typeof places];
    expect(await answer(thread, "ask", [id], place)).toMatchObject({ ok: true });
  },
);

test("the ids of many answers are sought in one pass over the events of the run in flight", async () => {
  const { order } = await testThread();
  const stub = env.THREADS.getByName(crypto.randomUUID()) as DurableObjectStub<ThreadObject>;
  await runInDurableObject(stub, async (_, { storage }) => {
    const store = newStore(storage);
    const run_id = startRun(store, order);
    const ids = Array.from({ length: 50 }, () => newId());
    for (const id of [...ids, ""]) {
      const data = JSON.stringify({ id, text: "x".repeat(300_000) });
      store.transaction(() => store.apply(run_id, [{ op: "event", event: "values", data }]));
    }
    const followers = new Followers(store, () => false);
    const page = vi.spyOn(store.events, "page");
    expect(await followers.hasEmitted(run_id, ids)).toBe(true);
    const pages = page.mock.calls.length;
    expect(await followers.hasEmitted(run_id, [...ids, newId()])).toBe(false);
    expect(pages).toBeGreaterThan(5);
    expect(page.mock.calls.length).toBeLessThan(pages * 2 + 3);
  });
});
