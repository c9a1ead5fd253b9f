// An agent whose model is one of Bedrock, with LangChain's package and the client of AWS.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { crc32 } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";
import { stack } from "./support/stack.ts";

const AGENT = `
import { ChatBedrockConverse } from "@langchain/aws";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";

const model = new ChatBedrockConverse({ model: "small", region: "eu-central-1" });

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addEdge("__start__", "model")
  .compile();
`;

const USAGE = { inputTokens: 1, outputTokens: 2, totalTokens: 3 };
const EVENTS = {
  messageStart: { role: "assistant" },
  contentBlockDelta: { contentBlockIndex: 0, delta: { text: "Hello" } },
  contentBlockStop: { contentBlockIndex: 0 },
  messageStop: { stopReason: "end_turn" },
  metadata: { usage: USAGE, metrics: { latencyMs: 1 } },
};
const ANSWER = {
  output: { message: { role: "assistant", content: [{ text: "Hello" }] } },
  ...EVENTS.messageStop,
  ...EVENTS.metadata,
};

/** Encodes a message of AWS' event streams: sizes and their checksum, headers, payload, checksum. */
function toMessage([event, body]: [string, object]): Buffer {
  const fields = {
    ":event-type": event,
    ":content-type": "application/json",
    ":message-type": "event",
  };
  const headers = Object.entries(fields).map(
    ([name, value]) =>
      `${String.fromCharCode(name.length)}${name}\x07\0${String.fromCharCode(value.length)}${value}`,
  );
  const [head, payload] = [Buffer.from(headers.join("")), Buffer.from(JSON.stringify(body))];
  const sizes = Buffer.concat([toUint32(head.length + payload.length + 16), toUint32(head.length)]);
  const message = Buffer.concat([sizes, toUint32(crc32(sizes)), head, payload]);
  return Buffer.concat([message, toUint32(crc32(message))]);
}

function toUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const paths: string[] = [];
let server: Server;
beforeAll(async () => {
  server = createServer((request, response) => {
    paths.push(request.url ?? "");
    const isStream = request.url?.endsWith("-stream");
    if (isStream) response.setHeader("Content-Type", "application/vnd.amazon.eventstream");
    const events = Object.entries(EVENTS).map(toMessage);
    response.end(isStream ? Buffer.concat(events) : JSON.stringify(ANSWER));
  });
  await once(server.listen(stack.agent_port, "127.0.0.1"), "listening");
});
afterAll(() => {
  server?.closeAllConnections();
  server?.close();
});

test("an agent calls a model of Bedrock, and streams its answer", async () => {
  const secrets = Object.entries({
    AWS_ACCESS_KEY_ID: "id",
    AWS_SECRET_ACCESS_KEY: "secret",
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: `http://127.0.0.1:${stack.agent_port}`,
  }).map(([name, value]) => ({ name, value }));
  const dependencies = {
    "@langchain/aws": "1.4.5",
    "@langchain/core": "1.4.0",
    "@langchain/langgraph": "1.4.18",
  };
  const files = {
    "langgraph.json": JSON.stringify({ graphs: { agent: "./agent.ts:graph" } }),
    "package.json": JSON.stringify({ dependencies }),
    "agent.ts": AGENT,
  };
  const { id } = await deploy("bedrock", files, { secrets });
  const { runs } = client(id);
  const input = { messages: [{ role: "user", content: "Hi" }] };
  const messages = [{ content: "Hi" }, { content: "Hello" }];
  expect(await runs.wait(null, "agent", { input })).toMatchObject({ messages });
  const events: { event: string; data: unknown }[] = [];
  for await (const event of runs.stream(null, "agent", {
    input,
    streamMode: ["messages", "values"],
  }))
    events.push(event);
  expect(events.findLast(({ event }) => event === "values")?.data).toMatchObject({ messages });
  expect(JSON.stringify(events.filter(({ event }) => event.startsWith("messages/")))).toContain(
    "Hello",
  );
  expect(paths).toEqual(["/model/small/converse", "/model/small/converse-stream"]);
});
