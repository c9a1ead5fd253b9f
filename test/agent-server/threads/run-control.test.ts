import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { deleteThreadsOf } from "../../../src/agent-server/threads/api/threads/deletion.ts";
import type { ThreadRecord } from "../../../src/agent-server/threads/contract/records.ts";
import { ThreadStore } from "../../../src/agent-server/threads/object/storage/store.ts";
import type { Op } from "../../../src/isolate/contract.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { agentWithUsers } from "../../support/agent-users.ts";
import { directoryRows } from "../../support/directory.ts";
import { eventually } from "../../support/eventually.ts";
import { objectNameOf, streamUntil, testThread } from "../../support/threads.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

const hi = { messages: [{ role: "user", content: "hi" }] };
const slow = { input: { delay_ms: 2_000 } };
const quick = { input: { delay_ms: 0 } };
const rollback = { wait: true, reason: null };

type State = {
  values: Record<string, unknown>;
  next: string[];
  metadata: Record<string, unknown>;
  checkpoint: { checkpoint_id: string };
  parent_checkpoint: { checkpoint_id: string } | null;
};

type Thread = Awaited<ReturnType<typeof testThread>>;

async function history({ object, revision }: Thread): Promise<State[]> {
  const answer = await object.getHistory(
    { ns: "", limit: 100, checkpoint_id: null, before_id: null, metadata: null },
    revision,
  );
  if (!answer.ok && answer.error === "graph_missing") return [];
  if (!answer.ok) throw new Error(JSON.stringify(answer));
  return JSON.parse(answer.value);
}

async function stateOf({ object, revision }: Thread): Promise<State> {
  const at = { ns: "", checkpoint_id: null, subgraphs: true };
  const answer = await object.getState(at, revision);
  if (!answer.ok) throw new Error(JSON.stringify(answer));
  return JSON.parse(answer.value);
}

/** All that a thread shows, but when it was touched. */
async function everything(thread: Thread) {
  const { updated_at: _u, ...shown } = (await thread.object.getThread()) as ThreadRecord;
  return { thread: shown, history: await history(thread) };
}

describe("rollback", () => {
  test("leaves the thread as it was: graph, configuration, values, interrupts and history", async () => {
    const thread = await testThread();
    await thread.wait("ask", { input: {}, config: { configurable: { user: "ada" } } });
    const before = await everything(thread);
    expect(before.thread).toMatchObject({ status: "interrupted", metadata: { graph_id: "ask" } });
    const { run_id } = await thread.create("steps", {
      ...slow,
      config: { configurable: { user: "bob" } },
    });
    expect(await thread.object.getThread()).toMatchObject({ metadata: { graph_id: "steps" } });
    await thread.object.cancelRun(run_id, "rollback", rollback);
    expect(await everything(thread)).toEqual(before);
    const done = await thread.wait("ask", { command: { resume: "yes" } });
    expect(done.log).toEqual(["answer: yes", "done"]);
  });

  test("of a thread's first run leaves it as it was made", async () => {
    const thread = await testThread();
    const before = await everything(thread);
    const { run_id } = await thread.create("steps", slow);
    await thread.object.cancelRun(run_id, "rollback", rollback);
    expect(await everything(thread)).toEqual(before);
  });

  test("by a second run does not hand that one what the first brought", async () => {
    const { object, create, wait } = await testThread();
    const configurable = { user: "bob" };
    await create("steps", { ...slow, config: { configurable }, metadata: { from: "first" } });
    const { seen } = await wait("config", {
      input: { n: 1 },
      multitask_strategy: "rollback",
    });
    expect(seen).not.toHaveProperty("user");
    const listed = await object.listRuns({ limit: 10, offset: 0 });
    expect(listed.ok && listed.runs).toHaveLength(1);
    expect(await object.getThread()).toMatchObject({ status: "idle", values: { n: 1 } });
  });

  test("of the run that took the thread hands it to the one that waits", async () => {
    const thread = await testThread();
    const before = await everything(thread);
    const first = await thread.create("steps", slow);
    const second = await thread.create("steps", { input: { delay_ms: 1_000 } });
    const third = await thread.create("echo", { input: hi });
    await thread.object.cancelRun(first.run_id, "rollback", rollback);
    expect(await thread.object.getThread()).toMatchObject({
      status: "busy",
      metadata: { graph_id: "steps" },
    });
    await thread.object.cancelRun(third.run_id, "rollback", rollback);
    await thread.object.cancelRun(second.run_id, "rollback", rollback);
    expect(await everything(thread)).toEqual(before);
    const fourth = await thread.create("steps", slow);
    const fifth = await thread.create("echo", { input: hi });
    await thread.object.cancelRun(fourth.run_id, "rollback", rollback);
    await thread.join(fifth.run_id);
    expect(await stateOf(thread)).toMatchObject({
      values: { messages: [{ content: "hi" }, { content: "echo: hi" }] },
    });
  });

  test("of an answer puts its question back", async () => {
    const thread = await testThread();
    await thread.wait("interrupts_within", { input: {} });
    const before = await everything(thread);
    const { run_id } = await thread.create("interrupts_within", { command: { resume: "one" } });
    const joined = await thread.join(run_id);
    expect(joined.__interrupt__).toMatchObject([{ value: { question: "second?" } }]);
    expect(await thread.object.deleteRun(run_id)).toBe(true);
    const { thread: now, history: states } = await everything(thread);
    expect(states).toEqual(before.history);
    expect(now).toMatchObject({ status: "interrupted", interrupts: before.thread.interrupts });
    const again = await thread.wait("interrupts_within", { command: { resume: "uno" } });
    expect(again.__interrupt__).toMatchObject([{ value: { question: "second?" } }]);
    const done = await thread.wait("interrupts_within", { command: { resume: "due" } });
    expect(done.log).toEqual(["before", "uno due", "done"]);
  });
});

describe("a deleted run", () => {
  test("deletes its checkpoints, and keeps those that later runs continue from", async () => {
    const thread = await testThread();
    const first = await thread.create("steps", { input: { delay_ms: 1 } });
    await thread.join(first.run_id);
    await thread.wait("steps", { input: {} });
    const before = await stateOf(thread);
    expect(before.values).toEqual({ delay_ms: 1, log: ["a", "b", "c", "a", "b", "c"] });
    await thread.object.deleteRun(first.run_id);
    expect(await stateOf(thread)).toEqual(before);
    const states = await history(thread);
    expect(states.map(({ metadata }) => metadata.run_id)).not.toContain(first.run_id);
    expect(states).toHaveLength(5);
    expect((await thread.wait("steps", { input: {} })).log).toHaveLength(9);
  });

  test.each([100, 200_000])(
    "that a run under way began from leaves it a value of %s characters",
    async (length) => {
      const thread = await testThread();
      const document = "x".repeat(length);
      const first = await thread.create("steps", { input: { delay_ms: 0, document } });
      await thread.join(first.run_id);
      const second = await thread.create("stalls", {
        input: { delay_ms: 500 },
        ...{ stream_mode: "updates", durability: "exit" },
      });
      await streamUntil(thread.object, second.run_id, '"a"');
      await thread.object.deleteRun(first.run_id);
      expect((await thread.object.getRun(second.run_id))?.status).toBe("running");
      await thread.join(second.run_id);
      const log = ["a", "b", "c", "a", "b"];
      expect((await stateOf(thread)).values).toEqual({ delay_ms: 500, document, log });
      await thread.object.deleteRun(second.run_id);
      expect(await history(thread)).toEqual([]);
    },
  );

  test("that was the last one leaves the state of the one before", async () => {
    const thread = await testThread();
    await thread.wait("steps", quick);
    const second = await thread.create("fails", { input: { log: ["x"] } });
    await thread.join(second.run_id);
    expect((await thread.object.getThread())?.status).toBe("error");
    await thread.object.deleteRun(second.run_id);
    expect(await thread.object.getThread()).toMatchObject({
      status: "idle",
      error: null,
      values: { log: ["a", "b", "c"] },
    });
  });

  test("that runs is stopped and undone", async () => {
    const thread = await testThread();
    const { run_id } = await thread.create("steps", slow);
    expect(await thread.object.deleteRun(run_id)).toBe(true);
    expect(await thread.object.deleteRun(run_id)).toBe(false);
    expect(await thread.object.getThread()).toMatchObject({ status: "idle", values: null });
  });
});

describe("commands and time travel", () => {
  test("goto runs a node, with its own input if given", async () => {
    const { wait } = await testThread();
    expect((await wait("steps", { command: { goto: "c" } })).log).toEqual(["c"]);
    const goto = { node: "c", input: { delay_ms: 1 } };
    expect((await wait("steps", { command: { goto } })).log).toEqual(["c", "c"]);
    expect((await wait("steps", { command: { goto: ["c"] } })).log).toEqual(["c", "c", "c"]);
  });

  test("update writes to the state, as an object or as pairs, and wins over input", async () => {
    const { wait } = await testThread();
    const command = { update: { log: ["x"] }, goto: "c" };
    expect((await wait("steps", { command, input: { log: ["no"] } })).log).toEqual(["x", "c"]);
    const pairs = { update: [["log", ["y"]]], goto: "c" };
    expect((await wait("steps", { command: pairs })).log).toEqual(["x", "c", "y", "c"]);
  });

  test("resume and update go together", async () => {
    const { wait } = await testThread();
    await wait("ask", { input: {} });
    const command = { resume: "yes", update: { log: ["noted"] } };
    expect((await wait("ask", { command })).log).toEqual(["noted", "answer: yes", "done"]);
  });

  test("a run from an earlier checkpoint forks, and the fork is the thread's state", async () => {
    const thread = await testThread();
    await thread.wait("steps", quick);
    const states = await history(thread);
    const afterA = states.find(({ next }) => next[0] === "b");
    const { checkpoint_id } = afterA?.checkpoint ?? { checkpoint_id: "" };
    const replayed = await thread.wait("steps", { checkpoint_id });
    expect(replayed.log).toEqual(["a", "b", "c"]);
    const forked = await thread.wait("steps", {
      checkpoint: { checkpoint_id, checkpoint_ns: "" },
      command: { update: { log: ["forked"] }, goto: "c" },
    });
    expect(forked.log.slice(0, 2)).toEqual(["a", "forked"]);
    expect((await stateOf(thread)).values.log).toEqual(forked.log);
    expect((await thread.wait("steps", { command: { goto: "c" } })).log).toEqual([
      ...forked.log,
      "c",
    ]);
    const named = { checkpoint_id: "", checkpoint: { checkpoint_id } };
    expect((await thread.wait("steps", named)).log).toEqual(["a", "b", "c"]);
    const all = (await history(thread)).map(({ checkpoint }) => checkpoint.checkpoint_id);
    expect(all).toEqual(expect.arrayContaining(states.map((s) => s.checkpoint.checkpoint_id)));
  });

  test("an answer to a question of an earlier checkpoint is taken, not replayed", async () => {
    const thread = await testThread();
    await thread.wait("ask", { input: {} });
    const [joined] = await history(thread);
    await thread.wait("ask", { command: { resume: "first" } });
    const again = await thread.wait("ask", {
      command: { resume: "second" },
      checkpoint_id: joined?.checkpoint.checkpoint_id,
    });
    expect(again.log).toEqual(["answer: second", "done"]);
  });

  test("durability sync commits a step once, with its checkpoint", async () => {
    const { wait } = await testThread();
    const run_id = newId();
    const apply = vi.spyOn(ThreadStore.prototype, "apply");
    onTestFinished(() => apply.mockRestore());
    await wait("steps", { ...quick, durability: "sync" }, run_id);
    const batches = apply.mock.calls.filter(([id]) => id === run_id).map(([, ops]) => ops);
    const has = (ops: Op[], kind: Op["op"]) => ops.some(({ op }) => op === kind);
    expect(batches.filter((ops) => has(ops, "checkpoint"))).toHaveLength(5);
    const alone = batches.filter((ops) => has(ops, "writes") && !has(ops, "checkpoint"));
    // A first step has more to await.
    expect(alone.length).toBeLessThanOrEqual(2);
  });

  test.each(["sync", "async", "exit"])("durability %s keeps the state", async (durability) => {
    const thread = await testThread();
    expect((await thread.wait("steps", { ...quick, durability })).log).toEqual(["a", "b", "c"]);
    const states = await history(thread);
    expect(states[0]?.values.log).toEqual(["a", "b", "c"]);
    expect(states).toHaveLength(durability === "exit" ? 1 : 5);
  });
});

test.each(["ask", "interrupts_after_a_step", "interrupts_both"])(
  "with durability exit, the interrupts of %s and the work beside them are shown as with async",
  async (graph_id) => {
    const shown = async (durability: string) => {
      const thread = await testThread();
      const interrupted = await thread.wait(graph_id, { input: {}, durability });
      const [first] = interrupted.__interrupt__ as { id: string }[];
      const resume = { [first?.id ?? ""]: "yes" };
      const answered = await thread.wait(graph_id, { command: { resume }, durability });
      const { status, values, interrupts } = (await thread.object.getThread()) as ThreadRecord;
      const waiting = Object.values(interrupts).flat();
      return JSON.parse(
        JSON.stringify([interrupted, answered, status, values, waiting]).replace(
          /[0-9a-f]{32}/g,
          "id",
        ),
      );
    };
    const whole = await shown("async");
    expect(whole[0].__interrupt__.length).toBeGreaterThan(0);
    expect(await shown("exit")).toEqual(whole);
  },
);

test("delayed runs start by when they are due, not by when they came", async () => {
  const { create, join, object } = await testThread();
  const humanInput = (content: string) => ({ input: { messages: [{ role: "user", content }] } });
  const late = await create("echo", { ...humanInput("late"), after_seconds: 2 });
  const soon = await create("echo", { ...humanInput("soon"), after_seconds: 1 });
  const now = await create("echo", humanInput("now"));
  await join(late.run_id);
  const thread = await object.getThread();
  const { messages } = (thread as ThreadRecord).values as { messages: { content: string }[] };
  expect(messages.filter((_message, n) => n % 2 === 0).map(({ content }) => content)).toEqual([
    "now",
    "soon",
    "late",
  ]);
  expect((await object.getRun(soon.run_id))?.status).toBe("success");
  expect((await object.getRun(now.run_id))?.status).toBe("success");
});

describe("over HTTP", () => {
  let ours: TestWorkspace;
  let agent: string;

  beforeAll(async () => {
    ours = await workspace();
    agent = `/agents/${(await testDeployment(ours.workspace_id)).deployment_id}`;
  });

  const post = (path: string, json: unknown) => api(`${agent}${path}`, { key: ours.editor, json });
  const get = async (path: string) => {
    const response = await api(`${agent}${path}`, { key: ours.viewer });
    const text = await response.text();
    return response.ok ? JSON.parse(text) : response.status;
  };
  async function newRun(body: object, thread_id?: string) {
    const id =
      thread_id ?? (await (await post("/threads", {})).json<{ thread_id: string }>()).thread_id;
    const response = await post(`/threads/${id}/runs`, { assistant_id: "steps", ...body });
    return response.json<{ run_id: string; thread_id: string }>();
  }
  const pathOf = ({ thread_id, run_id }: { thread_id: string; run_id: string }) =>
    `/threads/${thread_id}/runs/${run_id}`;

  test("a batch starts its runs on threads of their own, or none of them", async () => {
    const keep = { on_completion: "keep" };
    const response = await post("/runs/batch", [
      { assistant_id: "echo", assistantId: "echo", streamMode: "x", input: hi, ...keep },
      { assistant_id: "steps", ...quick, ...keep },
    ]);
    const runs = await response.json<{ run_id: string; thread_id: string }[]>();
    expect(runs).toHaveLength(2);
    const values = await Promise.all(runs.map((run) => get(`${pathOf(run)}/join`)));
    expect(values).toMatchObject([
      { messages: [{}, { content: "echo: hi" }] },
      { log: ["a", "b", "c"] },
    ]);
    const refused = await post("/runs/batch", [
      { assistant_id: "echo" },
      { assistant_id: "nobody" },
    ]);
    expect([refused.status, await refused.text()]).toEqual([
      404,
      expect.stringMatching(/"nobody"/),
    ]);
    const empty = await post("/runs/batch", []);
    expect([empty.status, await empty.text()]).toEqual([
      422,
      expect.stringMatching(/at least one/),
    ]);
    const many = await post("/runs/batch", new Array(101).fill({ assistant_id: "echo" }));
    expect([many.status, await many.text()]).toEqual([422, expect.stringMatching(/at most 100/)]);
  });

  test("runs are cancelled by their ids, and by status on one thread", async () => {
    const first = await newRun(slow);
    const [second, third] = [
      await newRun(slow, first.thread_id),
      await newRun(slow, first.thread_id),
    ];
    const { thread_id } = first;
    const byId = await post("/runs/cancel", { thread_id, run_ids: [second.run_id] });
    expect(byId.status).toBe(204);
    const statuses = () =>
      Promise.all([first, second, third].map(async (run) => (await get(pathOf(run))).status));
    expect(await statuses()).toEqual(["running", "interrupted", "pending"]);
    expect((await get(pathOf(second))).cancel_reason).toMatch(/^bulk:/);
    expect((await post("/runs/cancel", { thread_id, run_ids: [], status: "pending" })).status).toBe(
      204,
    );
    expect(await statuses()).toEqual(["running", "interrupted", "interrupted"]);
    const undo = await post("/runs/cancel?action=rollback", { thread_id, status: "all" });
    expect(undo.status).toBe(204);
    expect(await get(pathOf(first))).toBe(404);
    const none = await post("/runs/cancel", { thread_id, status: "all" });
    expect(none.status).toBe(404);
    const nothing = await post("/runs/cancel", { thread_id });
    expect([nothing.status, await nothing.text()]).toEqual([422, expect.stringMatching(/run_ids/)]);
    const both = await post("/runs/cancel", { run_ids: [first.run_id], status: "all" });
    expect([both.status, await both.text()]).toEqual([422, expect.stringMatching(/status/)]);
  });

  const listed = async (id: string) =>
    (await directoryRows(id)).filter((row) => row.is_temporary === 1).map((row) => row.thread_id);

  describe("threadless runs", () => {
    const idOf = () => agent.replace("/agents/", "");

    test("are cancelled with all others, and leave no row", async () => {
      const waited = Array.from({ length: 3 }, () =>
        post("/runs/wait", { assistant_id: "steps", ...slow }).then((answer) => answer.json()),
      );
      const delayed = await post("/runs", { assistant_id: "steps", ...slow, after_seconds: 600 });
      const { run_id } = await delayed.json<{ run_id: string }>();
      expect((await post("/runs/cancel", { status: "all" })).status).toBe(204);
      expect(await Promise.all(waited)).toEqual(new Array(3).fill({}));
      const place = { thread_id: run_id, run_id };
      await eventually(async () => expect(await get(pathOf(place))).toBe(404));
      await eventually(async () => expect(await listed(idOf())).toEqual([]));
      expect((await post("/runs/cancel", { status: "all" })).status).toBe(404);
    });

    test("that are over in a moment are listed nowhere", async () => {
      const answer = await post("/runs", { assistant_id: "echo", input: hi });
      const { run_id } = await answer.json<{ run_id: string }>();
      await (await api(`${agent}/runs/${run_id}/stream`, { key: ours.viewer })).text();
      const stub = env.THREADS.getByName(objectNameOf(idOf(), run_id));
      const marked = await runInDurableObject(stub, (_thread, { storage }) =>
        storage.sql.exec("SELECT 1 FROM thread WHERE directory_sent IS NOT NULL").toArray(),
      );
      expect(marked).toEqual([]);
      expect(await listed(idOf())).toEqual([]);
    });

    test("leave no thread after a run that joined theirs", async () => {
      const answer = await post("/runs", { assistant_id: "steps", ...slow });
      const { run_id } = await answer.json<{ run_id: string }>();
      const next = await newRun(quick, run_id);
      await get(`${pathOf(next)}/join`);
      await eventually(async () => expect(await get(`/threads/${run_id}`)).toBe(404));
    });

    test("are found after a crash of their object, whose end takes the row away", async () => {
      const answer = await post("/runs", { assistant_id: "steps", input: { delay_ms: 700 } });
      const { run_id } = await answer.json<{ run_id: string }>();
      await eventually(async () => expect(await listed(idOf())).toEqual([run_id]));
      const stub = env.THREADS.getByName(objectNameOf(idOf(), run_id));
      await runInDurableObject(stub, (_thread, state) => state.abort("crash")).catch(() => {});
      expect(await listed(idOf())).toEqual([run_id]);
      await (await api(`${agent}/runs/${run_id}/stream`, { key: ours.viewer })).text();
      await eventually(async () => expect(await listed(idOf())).toEqual([]));
    });

    test("are in no search, count or metric while the directory has them", async () => {
      const { deployment_id } = await testDeployment(ours.workspace_id);
      const call = async (method: string, path: string, json?: unknown) => {
        const options = { key: ours.editor, method, ...(json !== undefined && { json }) };
        return (await api(`/agents/${deployment_id}${path}`, options)).json();
      };
      const waited = call("POST", "/runs/wait", { assistant_id: "steps", ...slow });
      await eventually(async () => expect(await listed(deployment_id)).toHaveLength(1));
      expect(await call("POST", "/threads/search", {})).toEqual([]);
      expect(await call("POST", "/threads/count", {})).toBe(0);
      expect(await call("GET", "/metrics?format=json")).toMatchObject({
        threads: { idle: 0, busy: 0 },
        queue: { n_pending: 0, n_running: 0 },
      });
      await api(`/agents/${deployment_id}/runs/cancel`, {
        key: ours.editor,
        json: { status: "all" },
      });
      expect(await waited).toEqual({});
    });

    test("are cancelled once the directory has them, which the request does not wait for", async () => {
      const { deployment_id } = await testDeployment(ours.workspace_id);
      const start = async () => {
        const json = { assistant_id: "steps", input: { delay_ms: 600_000 } };
        const created = await api(`/agents/${deployment_id}/runs`, { key: ours.editor, json });
        return (await created.json<{ run_id: string }>()).run_id;
      };
      const first = await start();
      await eventually(async () => expect(await listed(deployment_id)).toEqual([first]));
      await start();
      const wait = vi.spyOn(scheduler, "wait");
      onTestFinished(() => wait.mockRestore());
      const cancel = `/agents/${deployment_id}/runs/cancel`;
      const all = { key: ours.editor, json: { status: "all" } };
      expect((await api(cancel, all)).status).toBe(204);
      expect(wait).not.toHaveBeenCalledWith(1500);
      const later = await start();
      await eventually(async () => expect(await listed(deployment_id)).toEqual([later]));
      expect((await api(cancel, all)).status).toBe(204);
    });

    test("end with their deployment", async () => {
      const { deployment_id } = await testDeployment(ours.workspace_id);
      const json = { assistant_id: "steps", ...slow };
      const waited = api(`/agents/${deployment_id}/runs/wait`, { key: ours.editor, json });
      await eventually(async () => expect(await listed(deployment_id)).toHaveLength(1));
      expect(await deleteThreadsOf(env, deployment_id)).toBe(true);
      expect(await listed(deployment_id)).toEqual([]);
      await (await waited).text();
    });

    test("of other users stay as they are", async () => {
      const { as } = await agentWithUsers();
      const [anna, eve] = [as("anna"), as("eve")];
      const json = { assistant_id: "steps", ...slow };
      const waited = anna("/runs/wait", { json });
      const all = { json: { status: "all" } };
      expect((await eve("/runs/cancel", all)).status).toBe(404);
      expect((await anna("/runs/cancel", all)).status).toBe(204);
      expect((await waited).text.trim()).toBe("{}");
    });
  });

  test("all runs of a deployment are cancelled, also those that just began", async () => {
    const runs = await Promise.all(Array.from({ length: 5 }, () => newRun(slow)));
    expect((await post("/runs/cancel", { status: "all" })).status).toBe(204);
    const statuses = () => Promise.all(runs.map(async (run) => (await get(pathOf(run))).status));
    await eventually(async () =>
      expect(await statuses()).toEqual(new Array(5).fill("interrupted")),
    );
  });

  test("a threadless run is cancelled by its id alone", async () => {
    const run = await (await post("/runs", { assistant_id: "steps", ...slow })).json<{
      run_id: string;
    }>();
    expect((await post("/runs/cancel", { run_ids: [run.run_id] })).status).toBe(204);
    const stream = await api(`${agent}/runs/${run.run_id}/stream`, { key: ours.viewer });
    expect(await stream.text()).not.toContain('"c"');
  });

  test("a run has its cancel_reason", async () => {
    const taken = await newRun(slow);
    expect((await post(`${pathOf(taken)}/cancel?wait=1&reason=taken`, {})).status).toBe(204);
    expect((await get(pathOf(taken))).cancel_reason).toMatch(/^taken:/);
    const both = await post(`${pathOf(taken)}/cancel?action=rollback&reason=taken`, {});
    expect([both.status, await both.text()]).toEqual([422, expect.stringMatching(/reason/)]);
    const first = await newRun(slow);
    const next = await newRun({ ...quick, multitask_strategy: "interrupt" }, first.thread_id);
    expect((await get(pathOf(first))).cancel_reason).toContain(`run ${next.run_id}`);
    expect((await get(pathOf(next))).cancel_reason).toBeNull();
  });

  test("the runs of a thread are listed by pages and by status", async () => {
    const { thread_id } = await newRun(quick);
    for (let n = 0; n < 4; n++) await get(`${pathOf(await newRun(quick, thread_id))}/join`);
    const delayed = await newRun({ ...quick, after_seconds: 3600 }, thread_id);
    const list = (query: string): Promise<{ run_id: string }[]> =>
      get(`/threads/${thread_id}/runs?${query}`);
    const all = (await list("limit=1000")).map(({ run_id }) => run_id);
    expect(all).toHaveLength(6);
    const pages = [await list("limit=4&offset=0"), await list("limit=4&offset=4")].flat();
    expect(pages.map(({ run_id }) => run_id)).toEqual(all);
    const pending = await list("status=pending&select=run_id&select=kwargs");
    expect(pending).toEqual([{ run_id: delayed.run_id, kwargs: expect.any(Object) }]);
    expect(await get(`/threads/${crypto.randomUUID()}/runs`)).toBe(404);
  });
});
