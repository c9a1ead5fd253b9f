// Agents that call the tools of an MCP server, with the SDK of the Model Context Protocol.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";
import { stack } from "./support/stack.ts";

const AGENT = `
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";

const mcp = new MultiServerMCPClient({ mcpServers: { weather: { transport: "http", url: "URL" } } });
const State = Annotation.Root({ city: Annotation(), answer: Annotation() });

function graphOf(tools) {
  return new StateGraph(State)
    .addNode("ask", async ({ city }) => ({ answer: await tools[0].invoke({ city }) }))
    .addEdge(START, "ask")
    .addEdge("ask", END)
    .compile();
}
`;

const WAYS = {
  "awaits its tools while it loads": "export const graph = graphOf(await mcp.getTools());",
  "lists its tools for each graph":
    "export async function graph() { return graphOf(await mcp.getTools()); }",
};

/** Transports by session. */
const sessions = new Map<string, StreamableHTTPServerTransport>();

async function newSession(): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  const server = new McpServer({ name: "weather", version: "1.0.0" });
  const [inputSchema, outputSchema] = [{ city: z.string() }, { text: z.string() }];
  server.registerTool("weather", { inputSchema, outputSchema }, async ({ city }) => {
    const text = `sunny in ${city}`;
    return { content: [{ type: "text", text }], structuredContent: { text } };
  });
  await server.connect(transport);
  return transport;
}

async function serve(request: IncomingMessage, response: ServerResponse) {
  const session = sessions.get(String(request.headers["mcp-session-id"]));
  await (session ?? (await newSession())).handleRequest(request, response);
}

let server: Server;
beforeAll(async () => {
  server = createServer((request, response) => void serve(request, response));
  await once(server.listen(stack.agent_port, "127.0.0.1"), "listening");
});
afterAll(() => {
  server?.closeAllConnections();
  server?.close();
});

test.each(Object.entries(WAYS))("an agent that %s calls them in each run", async (_way, code) => {
  const dependencies = { "@langchain/langgraph": "1.4.10", "@langchain/core": "1.4.0" };
  const { id } = await deploy("mcp-tools", {
    "langgraph.json": JSON.stringify({ graphs: { weather: "./agent.ts:graph" } }),
    "package.json": JSON.stringify({
      dependencies: { ...dependencies, "@langchain/mcp-adapters": "1.1.4" },
    }),
    "agent.ts": AGENT.replace("URL", `http://127.0.0.1:${stack.agent_port}/mcp`) + code,
  });
  for (const city of ["Rome", "Oslo", "Lima"]) {
    const { answer } = (await client(id).runs.wait(null, "weather", { input: { city } })) as {
      answer: unknown;
    };
    expect(JSON.stringify(answer)).toContain(`sunny in ${city}`);
  }
});
