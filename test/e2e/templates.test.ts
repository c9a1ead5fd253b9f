// Agents with the shape and the packages of LangGraph.js' published templates, each with the yarn.lock of its packages.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { deploy, type Revision } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import type { Files } from "./support/repositories.ts";
import { stack } from "./support/stack.ts";

type Call = { model: string; stream?: boolean; messages: { role: string; content: string }[] };

/** Requests of the agent's model. */
const calls: Call[] = [];
let server: Server;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const call = JSON.parse(await text(request)) as Call;
    calls.push(call);
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    for (const delta of deltasOf(call)) {
      const choices = [{ index: 0, delta, finish_reason: null }];
      response.write(
        `data: ${JSON.stringify({ id: `answer ${calls.length}`, model: call.model, choices })}\n\n`,
      );
    }
    response.end("data: [DONE]\n\n");
  });
  await once(server.listen(stack.agent_port, "127.0.0.1"), "listening");
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Calls the tool first, then repeats its result in two tokens. */
function deltasOf({ messages }: Call): object[] {
  const last = messages.at(-1);
  if (last?.role === "tool")
    return [{ role: "assistant", content: "There are " }, { content: last.content }];
  const named = { name: "stock", arguments: '{"item":"screws"}' };
  const tool_call = { index: 0, id: "call_1", type: "function", function: named };
  return [{ role: "assistant", content: "", tool_calls: [tool_call] }];
}

const MANAGER = { packageManager: "yarn@1.22.22" };

const lockOf = (name: string) => readFile(`test/fixtures/locks/${name}.lock.txt`, "utf8");

/** An agent beside its package.json, with a lockfile of the fixtures. */
async function agentFiles(dependencies: Files, lock: string, agent: string): Promise<Files> {
  return {
    "package.json": JSON.stringify({ type: "module", ...MANAGER, dependencies }),
    "yarn.lock": await lockOf(lock),
    "langgraph.json": configOf("./src/graph.ts:graph"),
    ".env": "",
    "src/graph.ts": agent,
  };
}

/** A monorepo whose root has the lockfile, langgraph.json and no packages. */
async function monorepoFiles(dependencies: Files, lock: string, agent: string): Promise<Files> {
  const resolutions = { "@langchain/core": "0.3.80" };
  const root = {
    name: "agent-app",
    private: true,
    ...MANAGER,
    workspaces: ["apps/*"],
    resolutions,
  };
  return {
    "package.json": JSON.stringify(root),
    "yarn.lock": await lockOf(lock),
    "langgraph.json": configOf("./apps/agents/src/graph.ts:graph"),
    ".env": "",
    "apps/agents/package.json": JSON.stringify({ name: "agents", type: "module", dependencies }),
    "apps/agents/src/graph.ts": agent,
  };
}

function configOf(agent: string): string {
  const graphs = { agent };
  const rest = { dockerfile_lines: [], dependencies: ["."], env: ".env" };
  return JSON.stringify({ node_version: "20", graphs, ...rest });
}

const APPROVAL = `
  import { AIMessageChunk, BaseMessage, BaseMessageLike } from "@langchain/core/messages";
  import { ChatGenerationChunk } from "@langchain/core/outputs";
  import { FakeListChatModel } from "@langchain/core/utils/testing";
  import { Annotation, messagesStateReducer, NodeInterrupt, StateGraph } from "@langchain/langgraph";

  const State = Annotation.Root({
    messages: Annotation<BaseMessage[], BaseMessageLike[]>({
      reducer: messagesStateReducer,
      default: () => [],
    }),
    approved: Annotation<boolean>,
  });
  const Configuration = Annotation.Root({ greeting: Annotation<string> });

  // As in Anthropic's package, the first chunk has the provider's id and no text.
  class Model extends FakeListChatModel {
    async *_streamResponseChunks(_messages, _options, runManager) {
      for (const text of ["", ...this.responses[0]]) {
        const message = new AIMessageChunk({ content: text, ...(text === "" && { id: "msg_1" }) });
        const chunk = new ChatGenerationChunk({ message, text });
        yield chunk;
        const rest = [undefined, undefined, undefined, undefined];
        if (text !== "") await runManager?.handleLLMNewToken(text, ...rest, { chunk });
      }
    }
  }

  async function callModel({ messages }: typeof State.State, config) {
    const model = new Model({ responses: [config.configurable.greeting] });
    return { messages: [await model.invoke(messages)] };
  }

  function approve({ approved }: typeof State.State) {
    if (!approved) throw new NodeInterrupt("Send it?");
    return { messages: [{ role: "assistant", content: "Sent" }] };
  }

  export const graph = new StateGraph(State, Configuration)
    .addNode("callModel", callModel)
    .addNode("approve", approve)
    .addEdge("__start__", "callModel")
    .addConditionalEdges("callModel", ({ messages }) => (messages.length > 1 ? "approve" : "__end__"))
    .compile();

  graph.name = "New Agent";`;

const NAMED_MODEL = `
  import { createAgent, initChatModel, tool } from "langchain";
  import { z } from "zod";

  const stock = tool(({ item }) => "40 of " + item, {
    name: "stock",
    description: "How many of an item are in stock.",
    schema: z.object({ item: z.string() }),
  });

  const model = await initChatModel("openai:named", { useResponsesApi: false });
  export const agent = createAgent({ model, tools: [stock] });`;

const TOOLS = `
  import { tool } from "@langchain/core/tools";
  import { Annotation, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
  import { ToolNode } from "@langchain/langgraph/prebuilt";
  import { initChatModel } from "langchain/chat_models/universal";
  import { z } from "zod";

  const Configuration = Annotation.Root({ model: Annotation<string> });

  const stock = tool(({ item }) => "40 of " + item, {
    name: "stock",
    description: "How many of an item are in stock.",
    schema: z.object({ item: z.string() }),
  });

  type Config = { configurable?: Partial<typeof Configuration.State> };

  async function callModel({ messages }: typeof MessagesAnnotation.State, config: Config) {
    const [modelProvider = "", name] = (config.configurable?.model ?? "openai/small").split("/");
    const model = await initChatModel(name, { modelProvider });
    return { messages: [await model.bindTools([stock]).invoke(messages)] };
  }

  function afterModel({ messages }: typeof MessagesAnnotation.State) {
    const last = messages.at(-1);
    return last && "tool_calls" in last && (last.tool_calls as object[]).length > 0
      ? "tools"
      : "__end__";
  }

  export const graph = new StateGraph(MessagesAnnotation, Configuration)
    .addNode("callModel", callModel)
    .addNode("tools", new ToolNode([stock]))
    .addEdge("__start__", "callModel")
    .addConditionalEdges("callModel", afterModel)
    .addEdge("tools", "callModel")
    .compile();`;

type Event = { event: string; data: unknown };

async function collect(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

function dataOf<T>(events: Event[], name: string): T[] {
  return events.flatMap(({ event, data }) => (event === name ? [data as T] : []));
}

type Messages = { messages: { id: string; type: string; content: string }[] };

async function warningsOf({ id, revision }: { id: string; revision: Revision }): Promise<string[]> {
  const path = `/v1/projects/${id}/revisions/${revision.id}/build_logs`;
  const { body } = await request<{ logs: { level: string; message: string }[] }>("POST", path, {});
  return body.logs.flatMap(({ level, message }) => (level === "WARNING" ? [message] : []));
}

test("an agent with LangGraph 0.2.5 builds with a warning, streams its model's tokens, waits for a person, and resumes", async () => {
  const packages = { "@langchain/core": "0.3.2", "@langchain/langgraph": "0.2.5" };
  const files = await agentFiles(packages, "langgraph-0.2.5", APPROVAL);
  const deployed = await deploy("approval", files);
  expect(await warningsOf(deployed)).toContainEqual(
    expect.stringMatching(
      /^LangGraph 0\.2\.5 runs without .* subgraphs \(0\.2\.9\), .* package\.json and yarn\.lock /,
    ),
  );
  const { threads, runs } = client(deployed.id);
  const { thread_id } = await threads.create();
  const events = await collect(
    runs.stream(thread_id, "agent", {
      input: { messages: [{ role: "user", content: "hi" }] },
      config: { configurable: { greeting: "Hello" } },
      streamMode: ["values", "updates", "messages", "messages-tuple", "custom"],
      streamSubgraphs: true,
    }),
  );
  const partial = dataOf<Messages["messages"]>(events, "messages/partial");
  expect(partial.map(([message]) => message?.content)).toEqual(["H", "He", "Hel", "Hell", "Hello"]);
  const tokens = dataOf<Messages["messages"]>(events, "messages");
  expect(tokens.map(([message]) => message?.content)).toEqual([..."Hello"]);
  const updates = dataOf<object>(events, "updates").flatMap((update) => Object.keys(update));
  expect(updates).toEqual(["callModel"]);
  const values = dataOf<Messages>(events, "values").at(-1);
  expect(values?.messages.map(({ content }) => content)).toEqual(["hi", "Hello"]);

  const waiting = await threads.get(thread_id);
  expect(waiting.status).toBe("interrupted");
  expect(Object.values(waiting.interrupts)).toMatchObject([[{ value: "Send it?" }]]);
  await threads.updateState(thread_id, { values: { approved: true }, asNode: "callModel" });
  const rest = await collect(
    runs.stream(thread_id, "agent", { input: null, streamMode: "values" }),
  );
  expect(rest.filter(({ event }) => event === "error")).toEqual([]);

  const state = await threads.getState<Messages>(thread_id);
  const types = state.values.messages.map(({ type, content }) => [type, content]);
  expect(types).toEqual([
    ["human", "hi"],
    ["ai", "Hello"],
    ["ai", "Sent"],
  ]);
  expect(state.values.messages[1]?.id).toBe("msg_1");
  const ids = state.values.messages.map(({ id }) => id);
  expect(ids).toEqual(values?.messages.map(({ id }) => id).concat(expect.any(String)));
  const history = await threads.getHistory(thread_id);
  expect(history.map(({ next }) => next.join())).toEqual([
    "",
    "approve",
    "approve",
    "callModel",
    "__start__",
  ]);
});

/** Settings of LangChain's OpenAI package. */
const modelSecrets = () => [
  { name: "OPENAI_API_KEY", value: "key" },
  { name: "OPENAI_BASE_URL", value: `http://127.0.0.1:${stack.agent_port}` },
];

test("an agent with LangGraph 0.3.0 in a monorepo loads the model that it is configured with, and calls tools", async () => {
  const packages = {
    "@langchain/core": "^0.2.0",
    "@langchain/langgraph": "0.3.0",
    "@langchain/openai": "0.5.18",
    langchain: "0.3.27",
    zod: "3.25.76",
  };
  const files = await monorepoFiles(packages, "langgraph-0.3.0", TOOLS);
  const { id } = await deploy("tools", files, { secrets: modelSecrets() });
  const sdk = client(id);
  const input = { messages: [{ role: "user", content: "How many screws do we have?" }] };
  const config = { configurable: { model: "openai/configured" } };
  const { thread_id } = await sdk.threads.create();
  const stream = sdk.runs.stream(thread_id, "agent", {
    input,
    config,
    streamMode: ["updates", "messages"],
  });
  const events: { event: string; data: unknown }[] = [];
  for await (const event of stream) events.push(event);
  const updates = events.filter(({ event }) => event === "updates").map(({ data }) => data);
  expect(updates.flatMap((update) => Object.keys(update as object))).toEqual([
    "callModel",
    "tools",
    "callModel",
  ]);
  const partial = events.filter(({ event }) => event === "messages/partial");
  expect(JSON.stringify(partial.at(-1)?.data)).toContain("There are 40 of screws");
  expect(calls.map(({ model }) => model)).toEqual(["configured", "configured"]);
  const { values } = await sdk.threads.getState<{ messages: { type: string }[] }>(thread_id);
  expect(values.messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);

  const [assistant] = await sdk.assistants.search({ graphId: "agent" });
  expect(await sdk.assistants.getSchemas(assistant?.assistant_id ?? "")).toMatchObject({
    input_schema: { properties: { messages: { type: "array" } } },
  });
});

test("an agent of LangChain 1 has the model that a text names, whose package LangChain imports", async () => {
  const dependencies = { langchain: "1.5.14", "@langchain/openai": "1.6.0", zod: "4.4.3" };
  const { id } = await deploy(
    "named-model",
    {
      "package.json": JSON.stringify({ type: "module", dependencies }),
      "langgraph.json": configOf("./agent.ts:agent"),
      ".env": "",
      "agent.ts": NAMED_MODEL,
    },
    { secrets: modelSecrets() },
  );
  const input = { messages: [{ role: "user", content: "How many screws do we have?" }] };
  const events = await collect(
    client(id).runs.stream(null, "agent", { input, streamMode: ["messages", "values"] }),
  );
  const last = events.findLast(({ event }) => event === "values")?.data;
  expect(last).toMatchObject({
    messages: [{}, {}, { content: "40 of screws" }, { content: "There are 40 of screws" }],
  });
  expect(calls.at(-1)?.model).toBe("named");
});
