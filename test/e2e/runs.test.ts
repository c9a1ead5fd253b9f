import { beforeAll, describe, expect, test } from "vitest";
import { LANGGRAPH_LINES } from "../support/langgraph-lines.ts";
import { client, lines } from "./support/clients.ts";
import { collect } from "./support/collect.ts";
import { deploy } from "./support/deployments.ts";
import { until } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

type Log = { log: string[] };
type Chat = { messages: { type: string; content: string }[] };
type Event = { id?: string | undefined; event: string; data: unknown };

const humanInput = (content: string) => ({ messages: [{ role: "user", content }] });
const slow = { input: { delay_ms: 500 } };
const quick = { input: { delay_ms: 0 } };

let deployment_id: string;
beforeAll(async () => {
  deployment_id = await deployTestAgent();
});

const namesOf = (events: Event[]) => events.map(({ event }) => event);

describe.each(lines)("the SDK %s", (_line, sdk) => {
  test("creates, gets and deletes a thread", async () => {
    const { threads } = sdk(deployment_id);
    const { thread_id } = await threads.create({ metadata: { topic: "looms" } });
    expect(await threads.get(thread_id)).toMatchObject({
      status: "idle",
      metadata: { topic: "looms" },
    });
    await threads.delete(thread_id);
    await expect(threads.get(thread_id)).rejects.toThrow(
      `HTTP 404: Thread with ID ${thread_id} not found`,
    );
  });

  test("streams a run and finds its state settled when the stream closes", async () => {
    const { threads, runs } = sdk(deployment_id);
    const { thread_id } = await threads.create();
    let run_id = "";
    const stream = runs.stream(thread_id, "echo", {
      input: humanInput("hi"),
      streamMode: ["values", "updates"],
      onRunCreated: (run) => {
        run_id = run.run_id;
      },
    });
    expect(namesOf(await collect(stream))).toEqual(["metadata", "values", "updates", "values"]);
    expect(await threads.get(thread_id)).toMatchObject({ status: "idle" });
    expect(await runs.get(thread_id, run_id)).toMatchObject({ status: "success" });
    const { values, next } = await threads.getState<Chat>(thread_id);
    expect(values.messages.map(({ content }) => content)).toEqual(["hi", "echo: hi"]);
    expect(next).toEqual([]);
  });

  test("two readers at once see the same events, and one resumes after an id", async () => {
    const { threads, runs } = sdk(deployment_id);
    const { thread_id } = await threads.create();
    const { run_id } = await runs.create(thread_id, "steps", { ...slow, streamMode: "updates" });
    const [first, second] = await Promise.all([
      collect(runs.joinStream(thread_id, run_id)),
      collect(runs.joinStream(thread_id, run_id)),
    ]);
    expect(namesOf(first)).toEqual(["metadata", "updates", "updates", "updates"]);
    expect(second).toEqual(first);
    const lastEventId = first[1]?.id ?? "";
    expect(await collect(runs.joinStream(thread_id, run_id, { lastEventId }))).toEqual(
      first.slice(2),
    );
    expect(await collect(runs.joinStream(thread_id, run_id, { lastEventId: "-1" }))).toEqual(first);
  });

  test("fifty runs on one thread end in the order they were created", async () => {
    const { threads, runs } = sdk(deployment_id);
    const { thread_id } = await threads.create();
    const created = [];
    for (let n = 0; n < 50; n++) {
      created.push(await runs.create(thread_id, "echo", { input: humanInput(`message ${n}`) }));
    }
    const results = await Promise.all(
      created.map(({ run_id }) => runs.join(thread_id, run_id) as Promise<Chat>),
    );
    expect(results).toHaveLength(50);
    const { values } = await threads.getState<Chat>(thread_id);
    expect(values.messages.map(({ content }) => content)).toEqual(
      created.flatMap((_run, n) => [`message ${n}`, `echo: message ${n}`]),
    );
    const listed = await runs.list(thread_id, { limit: 1000 });
    expect(listed.map(({ run_id }) => run_id)).toEqual(
      created.map(({ run_id }) => run_id).reverse(),
    );
    expect(new Set(listed.map(({ status }) => status))).toEqual(new Set(["success"]));
  });

  test("cancels a run before it starts and while it runs", async () => {
    const { threads, runs } = sdk(deployment_id);
    const { thread_id } = await threads.create();
    const running = await runs.create(thread_id, "steps", slow);
    const pending = await runs.create(thread_id, "steps", quick);
    await runs.cancel(thread_id, pending.run_id, true);
    expect(await runs.get(thread_id, pending.run_id)).toMatchObject({ status: "interrupted" });
    await runs.cancel(thread_id, running.run_id, true);
    expect(await runs.get(thread_id, running.run_id)).toMatchObject({ status: "interrupted" });
    expect((await threads.get(thread_id)).status).not.toBe("busy");
    expect(await runs.wait(thread_id, "echo", { input: humanInput("still there") })).toBeTruthy();
  });

  test("the four strategies", async () => {
    const { threads, runs } = sdk(deployment_id);
    const second = async (multitaskStrategy: "reject" | "enqueue" | "interrupt" | "rollback") => {
      const { thread_id } = await threads.create();
      const first = await runs.create(thread_id, "steps", slow);
      const next = runs.create(thread_id, "steps", { ...quick, multitaskStrategy });
      return { thread_id, first, next };
    };
    const rejected = await second("reject");
    await expect(rejected.next).rejects.toThrow("HTTP 409: Thread is already running a task");

    const enqueued = await second("enqueue");
    await runs.join(enqueued.thread_id, (await enqueued.next).run_id);
    const { values } = await threads.getState<Log>(enqueued.thread_id);
    expect(values.log).toEqual(["a", "b", "c", "a", "b", "c"]);

    const interrupted = await second("interrupt");
    await runs.join(interrupted.thread_id, (await interrupted.next).run_id);
    expect(await runs.get(interrupted.thread_id, interrupted.first.run_id)).toMatchObject({
      status: "interrupted",
    });

    const undone = await second("rollback");
    await runs.join(undone.thread_id, (await undone.next).run_id);
    await expect(runs.get(undone.thread_id, undone.first.run_id)).rejects.toThrow("HTTP 404");
    expect((await threads.getState<Log>(undone.thread_id)).values.log).toEqual(["a", "b", "c"]);
  });

  test("an interrupt waits for its answer and continues with it", async () => {
    const { threads, runs } = sdk(deployment_id);
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "ask", { input: { log: [] } });
    expect(await threads.get(thread_id)).toMatchObject({ status: "interrupted" });
    const state = await threads.getState(thread_id);
    expect(state.tasks[0]?.interrupts).toMatchObject([{ value: { question: "go on?" } }]);
    const done = await runs.wait(thread_id, "ask", { command: { resume: "yes" } });
    expect(done).toEqual({ log: ["answer: yes", "done"] });
  });

  test("a threadless run streams tokens and leaves nothing", async () => {
    const { threads, runs } = sdk(deployment_id);
    let run_id = "";
    const stream = runs.stream(null, "tokens", {
      input: humanInput("hi"),
      streamMode: ["messages-tuple"],
      onRunCreated: (run) => {
        run_id = run.run_id;
      },
    });
    const events = await collect(stream);
    expect(namesOf(events).filter((name) => name === "messages").length).toBeGreaterThan(2);
    await expect(threads.get(run_id)).rejects.toThrow("HTTP 404");
  });

  test("an error inside the graph arrives with its name", async () => {
    const { runs } = sdk(deployment_id);
    const events = await collect(runs.stream(null, "fails", { input: { log: [] } }));
    expect(events.at(-1)).toMatchObject({
      event: "error",
      data: { error: "RangeError", message: "the node broke" },
    });
    await expect(runs.wait(null, "fails", { input: { log: [] } })).rejects.toThrow(
      "the node broke",
    );
    await expect(runs.create(null, "nobody", {})).rejects.toThrow(/No assistant found for/);
  });

  test("a client that leaves cancels its run when on_disconnect is cancel, and not when it is continue", async () => {
    const { threads, runs } = sdk(deployment_id);
    for (const [onDisconnect, status] of [
      ["cancel", "interrupted"],
      ["continue", "success"],
    ] as const) {
      const { thread_id } = await threads.create();
      const stop = new AbortController();
      const stream = runs.stream(thread_id, "steps", {
        ...slow,
        onDisconnect,
        signal: stop.signal,
      });
      await stream.next();
      stop.abort();
      const last = await until(
        `the run to be ${status}`,
        async () => (await runs.list(thread_id))[0],
        (run) => run?.status !== "running" && run?.status !== "pending",
      );
      expect(last?.status).toBe(status);
    }
  });
});

const INTERRUPTED_GRAPH = `
import { Annotation, END, interrupt, START, StateGraph } from "@langchain/langgraph";

const Steps = Annotation.Root({
  log: Annotation<string[]>({ reducer: (log, added) => log.concat(added), default: () => [] }),
});
export const graph = new StateGraph(Steps)
  .addNode("a", () => ({ log: ["a"] }))
  .addNode("b", () => ({ log: ["b " + interrupt("continue?")] }))
  .addEdge(START, "a")
  .addEdge("a", "b")
  .addEdge("b", END)
  .compile();
`;

test.each(LANGGRAPH_LINES)(
  "a graph of LangGraph %s with core %s and checkpoint %s runs, interrupts and resumes",
  async (langgraph, core, checkpoint) => {
    const dependencies = {
      "@langchain/langgraph": langgraph,
      "@langchain/core": core,
      "@langchain/langgraph-checkpoint": checkpoint,
    };
    const { id } = await deploy("lines", {
      "langgraph.json": JSON.stringify({ graphs: { agent: "./graph.ts:graph" } }),
      "package.json": JSON.stringify({ dependencies }),
      "graph.ts": INTERRUPTED_GRAPH,
    });
    const { threads, runs } = client(id);
    const { thread_id } = await threads.create();
    const first = await runs.wait(thread_id, "agent", { input: { log: ["in"] } });
    expect(first).toMatchObject({ log: ["in", "a"], __interrupt__: [{ value: "continue?" }] });
    const second = await runs.wait(thread_id, "agent", { command: { resume: "yes" } });
    expect(second).toEqual({ log: ["in", "a", "b yes"] });
    expect(await threads.getState(thread_id)).toMatchObject({ values: second, next: [] });
    expect(await threads.getHistory(thread_id)).not.toHaveLength(0);
  },
);
