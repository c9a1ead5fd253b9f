import { beforeAll, describe, expect, test } from "vitest";
import { testDeployment } from "../../support/agent-deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

/** Runs that begin at an older checkpoint of their thread. */

let ours: TestWorkspace;
let deployment_id: string;

beforeAll(async () => {
  ours = await workspace();
  ({ deployment_id } = await testDeployment(ours.workspace_id));
});

async function send<T>(path: string, json?: unknown): Promise<T> {
  const of = { key: ours.editor, ...(json !== undefined && { json }) };
  const response = await api(`/agents/${deployment_id}${path}`, of);
  expect(response.status, await response.clone().text()).toBe(200);
  return response.json<T>();
}

type Interrupt = { id: string; value: unknown };
type State = {
  values: Record<string, unknown>;
  next: string[];
  checkpoint: { checkpoint_id: string };
};
type Thread = { status: string; values: object; interrupts: Record<string, Interrupt[]> };

async function newThread(assistant_id: string) {
  const { thread_id } = await send<{ thread_id: string }>("/threads", {});
  const path = `/threads/${thread_id}`;
  return {
    run: (body: object) => send<State["values"]>(`${path}/runs/wait`, { assistant_id, ...body }),
    state: () => send<State>(`${path}/state`),
    read: () => send<Thread>(path),
    checkpointId: async () => (await send<State>(`${path}/state`)).checkpoint.checkpoint_id,
  };
}

/** A thread with two turns, and the checkpoint between them. */
async function withTwoTurns() {
  const thread = await newThread("forks");
  await thread.run({ input: { topic: "one", log: ["a"] } });
  const checkpoint_id = await thread.checkpointId();
  await thread.run({ input: { topic: "two", log: ["b"] } });
  return { ...thread, checkpoint_id };
}

describe("a run that begins at an older checkpoint", () => {
  test("leaves the values of its branch when it interrupts", async () => {
    const { run, read, state, checkpoint_id } = await withTwoTurns();
    const values = { topic: "one", act: "ask", log: ["a", "done", "c"] };
    const answer = await run({ input: { act: "ask", log: ["c"] }, checkpoint_id });
    expect(answer).toMatchObject({ ...values, __interrupt__: [{ value: "ok?" }] });
    expect(await state()).toMatchObject({ values, next: ["work"] });
    expect(await read()).toMatchObject({ status: "interrupted", values });
    const ended = { ...values, log: ["a", "done", "c", "answer: yes"] };
    expect(await run({ command: { resume: "yes" } })).toEqual(ended);
    expect(await read()).toMatchObject({ status: "idle", values: ended, interrupts: {} });
  });

  test("leaves the values of its branch when it fails", async () => {
    const { run, read, checkpoint_id } = await withTwoTurns();
    await run({ input: { act: "fail", log: ["c"] }, checkpoint_id });
    const values = { topic: "one", act: "fail", log: ["a", "done", "c"] };
    expect(await read()).toMatchObject({ status: "error", values });
  });

  test("interrupts again where it did, and takes the answer", async () => {
    const { run, read, checkpointId } = await newThread("forks");
    await run({ input: { topic: "one", act: "ask" } });
    const checkpoint_id = await checkpointId();
    await run({ command: { resume: "first" } });
    await run({ input: { topic: "two", act: "go" } });
    const again = await run({ input: null, checkpoint_id });
    expect(again).toMatchObject({ topic: "one", log: [], __interrupt__: [{ value: "ok?" }] });
    const { status, values, interrupts } = await read();
    expect({ status, values }).toMatchObject({ status: "interrupted", values: { topic: "one" } });
    const [id] = Object.values(interrupts).flatMap((each) => each.map((one) => one.id));
    const ended = await run({ command: { resume: { [id ?? ""]: "second" } } });
    expect(ended).toMatchObject({ topic: "one", log: ["answer: second"] });
  });

  test("has subgraphs that remember what they did in it", async () => {
    const { run, checkpointId } = await newThread("remembers");
    await run({ input: {} });
    const checkpoint_id = await checkpointId();
    await run({ input: {} });
    const { log } = await run({ input: {}, checkpoint_id });
    expect(log).toEqual(["saw none", "saw a memo", "saw a memo", "saw a memo"]);
  });
});

test("an answered question of a step whose sibling failed waits no longer", async () => {
  const { run, read } = await newThread("interrupts_beside_a_failure");
  await run({ input: {} });
  await run({ command: { resume: "yes" } });
  const { status, interrupts } = await read();
  expect({ status, waiting: Object.values(interrupts).flat() }).toEqual({
    status: "error",
    waiting: [],
  });
});
