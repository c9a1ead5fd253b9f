// Versions of LangGraph that lockfiles of 2024 pin, each with the features that it has.
import { describe, expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";

const STEPS = `
  import { Annotation, StateGraph } from "@langchain/langgraph";
  const State = Annotation.Root({ text: Annotation<string>, log: Annotation<string[]>({
    reducer: (old, added) => [...old, ...added], default: () => [] }) });
  const build = () => new StateGraph(State)
    .addNode("shout", ({ text }) => ({ text: text.toUpperCase(), log: ["shout"] }))
    .addNode("end", () => ({ log: ["end"] }))
    .addEdge("__start__", "shout")
    .addEdge("shout", "end");
  export const agent = build().compile();
  export const waits = build().compile({ interruptBefore: ["end"] });`;

const INTERRUPT = `
  import { Annotation, interrupt, StateGraph } from "@langchain/langgraph";
  const Question = Annotation.Root({ answer: Annotation<string> });
  export const question = new StateGraph(Question)
    .addNode("question", () => ({ answer: interrupt({ why: "?" }) }))
    .addEdge("__start__", "question")
    .compile();`;

const TALK = `
  import { AIMessage, AIMessageChunk, HumanMessage } from "@langchain/core/messages";
  import { ChatGenerationChunk } from "@langchain/core/outputs";
  import { FakeListChatModel } from "@langchain/core/utils/testing";
  import { Annotation, messagesStateReducer, Send, StateGraph } from "@langchain/langgraph";

  const State = Annotation.Root({
    messages: Annotation({ reducer: messagesStateReducer, default: () => [] }),
  });
  // Streams as the packages of providers do.
  class Model extends FakeListChatModel {
    async *_streamResponseChunks(_messages, _options, runManager) {
      for (const text of "Hello") {
        const message = new AIMessageChunk({ content: text, id: "answer-1" });
        const chunk = new ChatGenerationChunk({ message, text });
        yield chunk;
        const rest = [undefined, undefined, undefined, undefined];
        await runManager?.handleLLMNewToken(text, ...rest, { chunk });
      }
    }
  }
  async function answer({ messages }) {
    let whole;
    const model = new Model({ responses: [] });
    for await (const chunk of await model.stream(messages)) whole = whole?.concat(chunk) ?? chunk;
    return { messages: [whole] };
  }
  const part = new StateGraph(State)
    .addNode("answer", answer)
    .addEdge("__start__", "answer")
    .compile();
  export const talk = new StateGraph(State)
    .addNode("part", part)
    .addNode("bye", () => ({ messages: [new AIMessage("Bye")] }))
    .addEdge("__start__", "part")
    .addEdge("part", "bye")
    .compile();

  const Letters = Annotation.Root({ sent: Annotation<string[]>({
    reducer: (old, added) => [...old, ...added], default: () => [] }) });
  export const sends = new StateGraph(Letters)
    .addNode("write", () => ({}))
    .addNode("send", ({ letter }) => ({ sent: [letter instanceof HumanMessage && letter.content] }))
    .addEdge("__start__", "write")
    .addConditionalEdges("write", () => [new Send("send", { letter: new HumanMessage("Dear all") })])
    .compile({ interruptBefore: ["send"] });

  export const remembers = new StateGraph(Letters)
    .addNode("write", async (_, { store }) => {
      await store.put(["letters"], "newest", { text: "Dear all" });
      return { sent: (await store.search(["letters"])).map(({ value }) => value.text) };
    })
    .addEdge("__start__", "write")
    .compile();`;

type Message = { id: string; content: string };

const GRAPHS = {
  agent: "./steps.ts:agent",
  waits: "./steps.ts:waits",
  talk: "./talk.ts:talk",
  sends: "./talk.ts:sends",
  remembers: "./talk.ts:remembers",
};

type Features = { hasStore?: boolean; hasInterrupt?: boolean };

async function deployed(core: string, langgraph: string, { hasInterrupt }: Features) {
  const dependencies = { "@langchain/core": core, "@langchain/langgraph": langgraph };
  const graphs = { ...GRAPHS, ...(hasInterrupt && { question: "./question.ts:question" }) };
  const { id } = await deploy("old", {
    "package.json": JSON.stringify({ type: "module", dependencies }),
    "langgraph.json": JSON.stringify({ graphs }),
    "steps.ts": STEPS,
    "talk.ts": TALK,
    "question.ts": INTERRUPT,
  });
  return client(id);
}

describe.each<[string, string, Features]>([
  ["0.2.31", "0.2.0", {}],
  ["0.3.7", "0.2.11", { hasStore: true }],
  ["0.3.40", "0.2.20", { hasStore: true }],
  ["0.3.40", "0.2.46", { hasStore: true, hasInterrupt: true }],
  ["0.3.40", "0.2.68", { hasStore: true, hasInterrupt: true }],
])("an agent with core %s and LangGraph %s", (core, langgraph, features) => {
  const { hasStore = false, hasInterrupt = false } = features;
  const sdk = deployed(core, langgraph, features);
  sdk.catch(() => {});

  test("runs, streams, and has its state and history", async () => {
    const { threads, runs, assistants } = await sdk;
    const { thread_id } = await threads.create();
    const modes = ["updates", "values", "debug"] as const;
    const stream = runs.stream(thread_id, "agent", {
      input: { text: "hi" },
      streamMode: [...modes],
      streamSubgraphs: true,
    });
    const events: { event: string; data: unknown }[] = [];
    for await (const event of stream) events.push(event);
    const updates = events.filter(({ event }) => event === "updates").map(({ data }) => data);
    expect(updates).toEqual([{ shout: { text: "HI", log: ["shout"] } }, { end: { log: ["end"] } }]);
    const values = events.filter(({ event }) => event === "values");
    expect(values.at(-1)?.data).toMatchObject({ text: "HI", log: ["shout", "end"] });
    expect(await threads.get(thread_id)).toMatchObject({ status: "idle", values: { text: "HI" } });
    const history = await threads.getHistory(thread_id);
    expect(history.map(({ next }) => next)).toEqual([[], ["end"], ["shout"], ["__start__"]]);
    await threads.updateState(thread_id, { values: { text: "edited" }, asNode: "end" });
    expect((await threads.getState(thread_id)).values).toMatchObject({ text: "edited" });
    const [assistant] = await assistants.search({ graphId: "agent" });
    const id = assistant?.assistant_id ?? "";
    const nodes = (await assistants.getGraph(id)).nodes.map((node) => node.id);
    expect(nodes).toEqual(expect.arrayContaining(["__start__", "shout", "end"]));
    expect(await assistants.getSchemas(id)).toMatchObject({
      input_schema: { properties: { log: { type: "array" } } },
    });
    expect(await assistants.getSubgraphs(id)).toEqual({});
  });

  test("waits before a node, and continues", async () => {
    const { threads, runs } = await sdk;
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "waits", { input: { text: "hi" } });
    expect((await threads.get(thread_id)).status).toBe("interrupted");
    expect((await threads.getState(thread_id)).next).toEqual(["end"]);
    const values = await runs.wait(thread_id, "waits", { input: null });
    expect(values).toMatchObject({ log: ["shout", "end"] });
    expect((await threads.get(thread_id)).status).toBe("idle");
  });

  test("streams the messages of models and nodes, each under its id in the state", async () => {
    const { threads, runs } = await sdk;
    const { thread_id } = await threads.create();
    const stream = runs.stream(thread_id, "talk", {
      input: { messages: [{ role: "user", content: "hi" }] },
      streamMode: ["messages", "messages-tuple"],
      streamSubgraphs: true,
    });
    const events: { event: string; data: unknown }[] = [];
    for await (const event of stream) events.push(event);
    const messagesOf = (name: RegExp) =>
      events.flatMap(({ event, data }) => (name.test(event) ? [(data as Message[])[0]] : []));
    const partial = messagesOf(/^messages\/partial$/).map((message) => message?.content);
    expect(partial).toEqual(["H", "He", "Hel", "Hell", "Hello"]);
    const { values } = await threads.getState<{ messages: Message[] }>(thread_id);
    expect(values.messages.map(({ content }) => content)).toEqual(["hi", "Hello", "Bye"]);
    const streamed = messagesOf(/^messages($|\|)/);
    for (const { id, content } of values.messages.slice(1)) {
      const pieces = streamed.filter((message) => message?.id === id);
      expect(pieces.map((message) => message?.content).join("")).toBe(content);
    }
  });

  test("keeps the messages of sends while it waits", async () => {
    const { threads, runs } = await sdk;
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "sends", { input: {} });
    expect((await threads.getState(thread_id)).next).toEqual(["send"]);
    expect(await runs.wait(thread_id, "sends", { input: null })).toEqual({ sent: ["Dear all"] });
  });

  test.runIf(hasStore)("reads and writes the store", async () => {
    const { threads, runs, store } = await sdk;
    const { thread_id } = await threads.create();
    const values = await runs.wait(thread_id, "remembers", { input: {} });
    expect(values).toEqual({ sent: ["Dear all"] });
    expect(await store.getItem(["letters"], "newest")).toMatchObject({
      value: { text: "Dear all" },
    });
  });

  test.runIf(hasInterrupt)("interrupts in a node, and is answered", async () => {
    const { threads, runs } = await sdk;
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "question", { input: {} });
    const waiting = await threads.get(thread_id);
    expect(waiting.status).toBe("interrupted");
    expect(Object.values(waiting.interrupts)).toMatchObject([[{ value: { why: "?" } }]]);
    const values = await runs.wait(thread_id, "question", { command: { resume: "yes" } });
    expect(values).toMatchObject({ answer: "yes" });
    expect((await threads.get(thread_id)).status).toBe("idle");
  });
});
