import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { beforeAll, expect, test } from "vitest";
import { databaseTest } from "../support/node/database-test.ts";
import { startPostgres } from "../support/node/databases.ts";
import { client } from "./support/clients.ts";
import { build, exampleUrl } from "./support/deployments.ts";
import { stack } from "./support/stack.ts";

type Values = { messages: { type: string; content: string }[] };

let chat: string;
let echo: string;

beforeAll(async () => {
  const deployed = await Promise.all([
    build("chat", exampleUrl("chat")),
    build("echo", exampleUrl("echo")),
  ]);
  for (const { revision } of deployed) expect(revision.status).toBe("DEPLOYED");
  [chat = "", echo = ""] = deployed.map(({ id }) => id);
});

function humanInput(content: string) {
  return { input: { messages: [{ role: "user", content }] } };
}

function last(values: unknown): string {
  return (values as Values).messages.at(-1)?.content ?? "";
}

test("a refused refund is not paid, and the agent explains why", async () => {
  const { threads, runs } = client(chat);
  const { thread_id } = await threads.create();
  await runs.wait(thread_id, "chat", humanInput("Please refund order 7 with 5"));
  expect((await threads.get(thread_id)).status).toBe("interrupted");
  const resume = { decisions: [{ type: "reject", message: "too late" }] };
  const values = await runs.wait(thread_id, "chat", { command: { resume } });
  expect(last(values)).toBe("Done: A person refused: too late");
});

test("a conversation continues in its thread", async () => {
  const { threads, runs } = client(chat);
  const { thread_id } = await threads.create();
  await runs.wait(thread_id, "chat", humanInput("one"));
  expect(last(await runs.wait(thread_id, "chat", humanInput("two")))).toContain(
    "your message number 2",
  );
});

test("a tool that fails answers with its error", async () => {
  const values = await client(chat).runs.wait(null, "chat", humanInput("What is 6 * (7 - 1?"));
  expect((values as Values).messages.find(({ type }) => type === "tool")?.content).toContain(
    "parenthesis",
  );
});

test("the plain generator counts the turns of its thread", async () => {
  const { threads, runs } = client(echo);
  const { thread_id } = await threads.create();
  await runs.wait(thread_id, "echo", humanInput("to be"));
  const values = await runs.wait(thread_id, "echo", humanInput("or not to be"));
  expect(values).toMatchObject({ words: 4, turns: 3 });
  expect(last(values)).toBe("You said: or not to be");
});

test("with a key in its secrets the chat example calls an OpenAI-compatible server", async () => {
  const requests: { authorization: string | undefined; model: string }[] = [];
  const server = await startModelServer(requests);
  try {
    const secrets = [
      { name: "OPENAI_API_KEY", value: "sk-test" },
      { name: "OPENAI_BASE_URL", value: `http://127.0.0.1:${stack.agent_port}/v1` },
      { name: "OPENAI_MODEL", value: "tiny" },
    ];
    const { id } = await build("chat-openai", exampleUrl("chat"), { secrets });
    const values = await client(id).runs.wait(null, "chat", humanInput("six by seven"));
    expect(last(values)).toBe("It is 42.");
    expect(requests).toEqual([
      { authorization: "Bearer sk-test", model: "tiny" },
      { authorization: "Bearer sk-test", model: "tiny" },
    ]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

databaseTest(
  "the stock example queries a database, with a prompt file and WebAssembly",
  async () => {
    const { databases } = stack;
    if (databases === null) throw new Error("No databases");
    const schema = await readFile("examples/stock/schema.sql", "utf8");
    const postgres = await startPostgres(databases.postgres_port, databases.certificate, schema);
    try {
      const secrets = [{ name: "DATABASE_URL", value: `${postgres.url}?sslmode=require` }];
      const { id } = await build("stock", exampleUrl("stock"), { secrets });
      const { threads, runs } = client(id);
      const { thread_id } = await threads.create();
      const question = humanInput("How many skrewdrivers do we have?");
      expect(last(await runs.wait(thread_id, "stock", question))).toBe(
        "screwdriver: 40 in stock, shelf A4.",
      );
      const other = humanInput("And bicycles?");
      expect(last(await runs.wait(thread_id, "stock", other))).toBe("No product has such a name.");
    } finally {
      await postgres.stop();
    }
  },
);

/** A model that calls the tool first and answers with its result. */
function startModelServer(requests: { authorization: string | undefined; model: string }[]) {
  const model = createServer(async (request, response) => {
    const { model, messages } = JSON.parse(await readText(request));
    requests.push({ authorization: request.headers.authorization, model });
    const { role, content } = messages.at(-1);
    const deltas =
      role === "tool"
        ? [{ content: "It is " }, { content: `${content}.` }]
        : [
            toolDelta({ id: "call-1", function: { name: "calculate", arguments: "" } }),
            toolDelta({ function: { arguments: '{"expression":' } }),
            toolDelta({ function: { arguments: '"6 * 7"}' } }),
          ];
    for (const delta of deltas) {
      response.write(`data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`);
    }
    response.end("data: [DONE]\n\n");
  });
  return new Promise<Server>((resolve) =>
    model.listen(stack.agent_port, "127.0.0.1", () => resolve(model)),
  );
}

function toolDelta(call: object) {
  return { tool_calls: [{ index: 0, ...call }] };
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request) text += part;
  return text;
}
