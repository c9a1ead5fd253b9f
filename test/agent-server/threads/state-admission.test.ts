import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { fillBudget } from "../../support/memory-budget.ts";
import { ownRevision, testThread } from "../../support/threads.ts";

type TestThread = Awaited<ReturnType<typeof testThread>>;

const LARGE_CHARACTERS = 900_000;

const inputOf = (content: string) => ({ input: { messages: [{ role: "user", content }] } });
const AT = { ns: "", checkpoint_id: null };
const NEWEST = { ...AT, subgraphs: false };
const ONE = { ...AT, limit: 1, before_id: null, metadata: null };

function stubOf({ place: { deployment_id, thread_id } }: TestThread) {
  return env.THREADS.getByName(`${deployment_id}/${thread_id}`) as DurableObjectStub<ThreadObject>;
}

/** Two threads of one deployment, one with a large state. */
async function smallAndLarge() {
  const own = ownRevision();
  const [small, large] = [await testThread(own), await testThread(own)];
  await small.wait("echo", inputOf("hi"));
  await large.wait("echo", inputOf("x".repeat(LARGE_CHARACTERS)));
  return { small, large };
}

async function statementsOf(thread: TestThread, work: () => Promise<unknown>): Promise<string[]> {
  const own = await runInDurableObject(stubOf(thread), (_, { storage }) => storage.sql);
  const prototype = Object.getPrototypeOf(own);
  const { exec } = prototype;
  const statements: string[] = [];
  prototype.exec = function listed(this: SqlStorage, query: string, ...bindings: unknown[]) {
    if (this === own) statements.push(query);
    return exec.call(this, query, ...bindings);
  } as SqlStorage["exec"];
  await work();
  prototype.exec = exec;
  return statements;
}

test("large states and histories are read once the isolate has room, small ones at once", async () => {
  const { small, large } = await smallAndLarge();
  const release = await fillBudget();
  const ends: string[] = [];
  const end = (name: string) => (answer: unknown) => {
    ends.push(name);
    return answer;
  };
  const waiting = [
    large.object.getState(NEWEST, large.revision).then(end("large")),
    large.object.getHistory(ONE, large.revision).then(end("large")),
  ];
  for (let n = 0; n < 3; n++) {
    await small.object.getState(NEWEST, small.revision).then(end("small"));
    await small.object.getHistory(ONE, small.revision).then(end("small"));
  }
  expect(ends).toEqual(Array.from({ length: 6 }, () => "small"));
  await release();
  for (const answer of await Promise.all(waiting)) {
    expect(answer).toMatchObject({ ok: true, value: expect.stringContaining("xxxx") });
  }
});

test("a run on a large state starts once the isolate has room, and gives it back", async () => {
  const { small, large } = await smallAndLarge();
  const release = await fillBudget();
  const { run_id } = await large.create("echo", inputOf("again"));
  await small.wait("echo", inputOf("one"));
  await small.wait("echo", inputOf("two"));
  expect(await large.object.getRun(run_id)).toMatchObject({ status: "running" });
  const { n } = await runInDurableObject(stubOf(large), (_, { storage }) =>
    storage.sql
      .exec<{ n: number }>("SELECT count(*) AS n FROM checkpoints WHERE run_id = ?", run_id)
      .one(),
  );
  expect(n).toBe(0);
  await release();
  expect((await large.join(run_id)).messages).toHaveLength(4);
  // The isolate has room for all of it again.
  await (await fillBudget())();
});

test("a run that is cancelled while it waits for room never starts", async () => {
  const { large } = await smallAndLarge();
  const release = await fillBudget();
  const { run_id } = await large.create("echo", inputOf("again"));
  await large.object.cancelRun(run_id, "interrupt", { wait: false, reason: null });
  await release();
  expect(await large.object.getRun(run_id)).toMatchObject({ status: "interrupted" });
  const state = await large.object.getState(NEWEST, large.revision);
  expect(JSON.stringify(state)).not.toContain("again");
});

test("the size of a state is read for a large database only", async () => {
  const { small, large } = await smallAndLarge();
  const measured = async (thread: TestThread) => {
    const read = () => thread.object.getState(NEWEST, thread.revision);
    const run = () => thread.wait("echo", inputOf("hi"));
    const statements = [
      ...(await statementsOf(thread, read)),
      ...(await statementsOf(thread, run)),
    ];
    return statements.filter((query) => query.includes("sum(length(kept.data))")).length;
  };
  expect(await measured(small)).toBe(0);
  expect(await measured(large)).toBe(2);
});
