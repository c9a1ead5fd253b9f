import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { beforeAll, describe, expect, test } from "vitest";
import { request } from "./support/http.ts";
import { stack, until } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

let deployment_id: string;
let agent_url: string;
beforeAll(async () => {
  deployment_id = await deployTestAgent();
  agent_url = `${stack.base_url}/agents/${deployment_id}`;
});

const hi = { messages: [{ role: "user", content: "hi" }] };

describe("the official MCP client", () => {
  async function connect(): Promise<Client> {
    const mcp = new Client({ name: "test", version: "1.0.0" });
    const requestInit = { headers: { "x-api-key": stack.api_key } };
    const transport = new StreamableHTTPClientTransport(new URL(`${agent_url}/mcp`), {
      requestInit,
    });
    // The published type of a transport has no `exactOptionalPropertyTypes` in mind.
    await mcp.connect(transport as Parameters<Client["connect"]>[0]);
    return mcp;
  }

  test("connects, lists the agents as tools and calls one", async () => {
    const mcp = await connect();
    expect(mcp.getServerCapabilities()).toEqual({ tools: {} });
    await mcp.ping();
    const { tools } = await mcp.listTools();
    expect(tools.find(({ name }) => name === "echo")?.inputSchema).toMatchObject({
      type: "object",
      properties: { messages: {} },
    });
    const result = await mcp.callTool({ name: "echo", arguments: hi });
    expect(result).toMatchObject({
      isError: false,
      structuredContent: { messages: [{ content: "hi" }, { content: "echo: hi" }] },
    });
    const failed = await mcp.callTool({ name: "fails", arguments: {} });
    expect(failed).toMatchObject({ isError: true, content: [{ type: "text" }] });
    await expect(mcp.callTool({ name: "nobody" })).rejects.toThrow("Unknown tool: nobody");
    await mcp.close();
  });

  test("that goes away ends the run that it called", async () => {
    const mcp = await connect();
    const called = expect(mcp.callTool({ name: "talks", arguments: {} })).rejects.toThrow();
    const hasSaid = (line: string) =>
      until(
        `"${line}" in the log`,
        () =>
          request<{ logs: { message: string }[] }>(
            "POST",
            `/v1/projects/${deployment_id}/deploy_logs`,
            {},
          ),
        ({ body }) => body.logs.some(({ message }) => message === line),
      );
    await hasSaid('first {"a":1}');
    await mcp.close();
    await called;
    // What it says when it is cancelled.
    await hasSaid("third");
  });
});
