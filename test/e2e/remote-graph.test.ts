import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { RemoteGraph } from "@langchain/langgraph/remote";
import { beforeAll, describe, expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { collect } from "./support/collect.ts";
import { stack } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

type Wire = { messages: { type: string; content: string }[] };
type Steps = { log: string[] };

let deployment_id: string;
beforeAll(async () => {
  deployment_id = await deployTestAgent();
});

function remote(graphId: string): RemoteGraph {
  const url = `${stack.base_url}/agents/${deployment_id}`;
  return new RemoteGraph({ graphId, url, apiKey: stack.api_key });
}

async function onThread() {
  const { thread_id } = await client(deployment_id).threads.create();
  return { configurable: { thread_id } };
}

const hi = { messages: [{ role: "user", content: "hi" }] };

test("invokes a graph, with a thread and without", async () => {
  const config = await onThread();
  for (const options of [undefined, config]) {
    const values: Wire = await remote("echo").invoke(hi, options);
    expect(values.messages.map(({ content }) => content)).toEqual(["hi", "echo: hi"]);
  }
  const again: Wire = await remote("echo").invoke(hi, config);
  expect(again.messages).toHaveLength(4);
});

test("an error in the graph is an error of the call", async () => {
  await expect(remote("fails").invoke({})).rejects.toThrow(/the node broke/);
});

describe("streams", () => {
  async function chunks(graph: string, options: Record<string, unknown>): Promise<unknown[]> {
    return collect(await remote(graph).stream({ delay_ms: 0 }, options));
  }

  test("one mode as its chunks alone", async () => {
    const steps = ["a", "b", "c"].map((name) => ({ [name]: { log: [name] } }));
    expect(await chunks("steps", { streamMode: "updates" })).toEqual(steps);
    const values = await chunks("steps", { streamMode: "values" });
    expect(values.at(-1)).toMatchObject({ log: ["a", "b", "c"] });
  });

  test("several modes with their names, and graphs within with their namespaces", async () => {
    const modes = { streamMode: ["updates", "custom"], subgraphs: true };
    const found = (await chunks("nested", modes)) as [string[], string, unknown][];
    const inner = found.filter(([namespace]) => namespace.length > 0);
    expect(
      inner.map(([[namespace = ""], mode, data]) => [namespace.split(":")[0], mode, data]),
    ).toEqual([
      ["inner", "custom", { from: "deep" }],
      ["inner", "updates", { deep: { log: ["deep"] } }],
    ]);
    expect(found.at(-1)).toEqual([[], "updates", { after: { log: ["after"] } }]);
  });

  test("tokens", async () => {
    const config = { streamMode: "messages" as const };
    const texts: string[] = [];
    for await (const [message] of await remote("tokens").stream(hi, config)) {
      texts.push(String((message as { content: unknown }).content));
    }
    expect(texts.length).toBeGreaterThan(3);
    expect(texts.join("")).toContain("one two three");
  });
});

test("reads and writes a thread's state and history", async () => {
  const graph = remote("steps");
  const config = await onThread();
  await graph.invoke({ delay_ms: 0 }, config);
  const state = await graph.getState(config);
  expect((state.values as Steps).log).toEqual(["a", "b", "c"]);
  expect(state.next).toEqual([]);

  const history = [];
  for await (const snapshot of graph.getStateHistory(config)) history.push(snapshot);
  expect(history.map(({ next }) => next)).toEqual([[], ["c"], ["b"], ["a"], ["__start__"]]);

  const updated = await graph.updateState(config, { log: ["by hand"] }, "c");
  expect(updated.configurable).toMatchObject(config.configurable);
  const after = await graph.getState(config);
  expect((after.values as Steps).log).toEqual(["a", "b", "c", "by hand"]);

  const earlier = history[2]?.config;
  if (!earlier) throw new Error("there is no such step");
  const then = await graph.getState(earlier);
  expect((then.values as Steps).log).toEqual(["a"]);
});

test("draws the graph", async () => {
  const drawn = await remote("steps").getGraphAsync();
  expect(Object.keys(drawn.nodes)).toEqual(["__start__", "a", "b", "c", "__end__"]);
  expect(drawn.edges).toHaveLength(4);
});

describe("as a node of a local graph", () => {
  const parent = (graph: string) =>
    new StateGraph(MessagesAnnotation)
      .addNode("before", () => ({ messages: [new AIMessage({ content: "passed on", id: "1" })] }))
      .addNode("remote", remote(graph))
      .addEdge(START, "before")
      .addEdge("before", "remote")
      .compile({ checkpointer: new MemorySaver() });

  test("takes part in its state and its stream", async () => {
    const config = await onThread();
    const input = { messages: [new HumanMessage({ content: "hi", id: "0" })] };
    const { messages }: { messages: BaseMessage[] } = await parent("echo").invoke(input, config);
    expect(messages.map(({ content }) => content)).toEqual(["hi", "passed on", "echo: passed on"]);
    const options = { ...(await onThread()), streamMode: "updates" as const, subgraphs: true };
    const stream = await parent("echo").stream(input, options);
    // The types of `stream` leave out the namespace that `subgraphs` puts before the update.
    const updates = (await collect(stream)) as unknown as [string[], object][];
    const chunks = updates.map(([namespace, update]) => [
      namespace.map((part) => part.split(":")[0]),
      Object.keys(update),
    ]);
    expect(chunks).toEqual([
      [[], ["before"]],
      [["remote"], ["reply"]],
      [[], ["remote"]],
    ]);
  });
});
