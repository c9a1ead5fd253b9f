import { randomUUID } from "node:crypto";
import { Role, TaskState, type Task as TaskV1 } from "@a2a-js/sdk";
import * as v1 from "@a2a-js/sdk/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Task } from "a2a-sdk-0.3";
import {
  type Client as A2aClient,
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from "a2a-sdk-0.3/client";
import { beforeAll, describe, expect, test } from "vitest";
import { collect } from "./support/collect.ts";
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
    const hasLine = (line: string) =>
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
    await hasLine('first of 3 {"a":1}');
    await mcp.close();
    await called;
    await hasLine("third");
  });
});

describe("the official A2A client of 0.3", () => {
  async function connect(assistant: string): Promise<A2aClient> {
    const headers = async () => ({ "x-api-key": stack.api_key });
    const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
      headers,
      shouldRetryWithHeaders: async () => undefined,
    });
    const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    });
    return new ClientFactory(options).createFromUrl(`${agent_url}/a2a/${assistant}/`);
  }

  const message = (text: string, more: object = {}) => ({
    message: {
      kind: "message" as const,
      role: "user" as const,
      messageId: randomUUID(),
      parts: [{ kind: "text" as const, text }],
      ...more,
    },
  });

  test("reads the card, sends a message, and gets the task", async () => {
    const a2a = await connect("echo");
    const task = (await a2a.sendMessage(message("hi"))) as Task;
    expect(task).toMatchObject({
      kind: "task",
      status: { state: "completed" },
      artifacts: [{ parts: [{ kind: "text", text: "echo: hi" }] }],
    });
    expect(await a2a.getTask({ id: task.id })).toMatchObject({ id: task.id });
    const next = await a2a.sendMessage(message("and on", { contextId: task.contextId }));
    expect(next).toMatchObject({ contextId: task.contextId });
    await expect(a2a.cancelTask({ id: task.id })).rejects.toThrow();
    await expect(a2a.getTask({ id: randomUUID() })).rejects.toThrow(/not found/i);
  });

  test("streams an answer as it is written", async () => {
    const a2a = await connect("tokens");
    const events = await collect(a2a.sendMessageStream(message("hi")));
    expect([...new Set(events.map(({ kind }) => kind))]).toEqual([
      "task",
      "status-update",
      "artifact-update",
    ]);
    const pieces = events.filter((event) => event.kind === "artifact-update");
    const text = pieces.reduce((before, { artifact, append }) => {
      const [part] = artifact.parts;
      const text = part?.kind === "text" ? part.text : "";
      return append ? before + text : text;
    }, "");
    expect(text).toBe("one two three");
  });
});

describe("the official A2A client of 1.x", () => {
  test("reads the card, and sends and streams a message", async () => {
    const fetchImpl = v1.createAuthenticatingFetchWithRetry(fetch, {
      headers: async () => ({ "x-api-key": stack.api_key }),
      shouldRetryWithHeaders: async () => undefined,
    });
    const factory = new v1.ClientFactory(
      v1.ClientFactoryOptions.createFrom(v1.ClientFactoryOptions.default, {
        transports: [new v1.JsonRpcTransportFactory({ fetchImpl })],
        cardResolver: new v1.DefaultAgentCardResolver({ fetchImpl }),
      }),
    );
    const a2a = await factory.createFromUrl(`${agent_url}/a2a/tokens/`);
    const part = { metadata: undefined, filename: "", mediaType: "" };
    const request = () => ({
      tenant: "",
      message: {
        ...{ messageId: randomUUID(), role: Role.ROLE_USER, contextId: "", taskId: "" },
        parts: [{ content: { $case: "text" as const, value: "hi" }, ...part }],
        ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
      },
      ...{ configuration: undefined, metadata: undefined },
    });
    const task = (await a2a.sendMessage(request())) as TaskV1;
    expect(task).toMatchObject({
      status: { state: TaskState.TASK_STATE_COMPLETED },
      artifacts: [{ parts: [{ content: { value: "one two three" } }] }],
    });
    const events = await collect(a2a.sendMessageStream(request()));
    expect([...new Set(events.map(({ payload }) => payload?.$case))]).toEqual([
      "task",
      "statusUpdate",
      "artifactUpdate",
    ]);
  });
});
