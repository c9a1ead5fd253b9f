import { beforeAll, describe, expect, test } from "vitest";
import { toTools } from "../../../src/agent-server/mcp/tools.ts";
import type { Assistant } from "../../../src/agent-server/threads/api/assistants/assistant-schema.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { testDeployment } from "../../support/agent-deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

type Answer = {
  id: unknown;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
};
type Tool = { name: string; description?: string; inputSchema: Record<string, unknown> };
type Content = { content: { text: string }[]; isError: boolean; structuredContent?: unknown };

const BOTH = "application/json, text/event-stream";

let ours: TestWorkspace;
let agent: string;
beforeAll(async () => {
  ours = await workspace();
  agent = `/agents/${(await testDeployment(ours.workspace_id)).deployment_id}`;
});

function send(json: unknown, headers: Record<string, string> = {}, key = ours.editor) {
  return api(`${agent}/mcp/`, { key, json, headers: { Accept: BOTH, ...headers } });
}

async function post(method: string, params: unknown = {}, key = ours.editor): Promise<Answer> {
  const response = await send({ jsonrpc: "2.0", id: 7, method, params }, {}, key);
  expect([response.status, response.headers.get("Content-Type")]).toEqual([
    200,
    "application/json",
  ]);
  return response.json();
}

const call = async (name: string, args?: unknown) =>
  (await post("tools/call", { name, arguments: args })).result as unknown as Content;

/** Returns the tools of all pages. */
async function tools(): Promise<Tool[]> {
  const listed: Tool[] = [];
  let cursor: unknown;
  do {
    const { result = {} } = await post("tools/list", cursor === undefined ? {} : { cursor });
    listed.push(...(result.tools as Tool[]));
    cursor = result.nextCursor;
  } while (cursor !== undefined);
  return listed;
}

async function assistant(body: Record<string, unknown>): Promise<{ assistant_id: string }> {
  const made = await api(`${agent}/assistants`, { key: ours.editor, json: body });
  expect(made.status).toBe(200);
  return made.json();
}

describe("requests without a session", () => {
  test.each([
    ["2025-03-26", "2025-03-26"],
    ["2025-06-18", "2025-06-18"],
    ["2024-11-05", "2025-11-25"],
  ])("begins: a client of %s is answered %s", async (requested, answered) => {
    const answer = await post("initialize", { protocolVersion: requested, capabilities: {} });
    expect(answer).toMatchObject({
      jsonrpc: "2.0",
      id: 7,
      result: { protocolVersion: answered, capabilities: { tools: {} } },
    });
  });

  test("accepts notifications, and responses to unknown requests", async () => {
    for (const message of [
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 1, result: {} },
    ]) {
      const response = await send(message);
      expect([response.status, await response.text()]).toEqual([202, ""]);
    }
  });

  test("has no stream to listen to and nothing to end", async () => {
    const get = await api(`${agent}/mcp`, { key: ours.viewer, headers: { Accept: BOTH } });
    expect([get.status, get.headers.get("Allow")]).toEqual([405, "POST"]);
    await get.text();
    const end = await api(`${agent}/mcp`, { key: ours.editor, method: "DELETE" });
    expect([end.status, await end.text()]).toEqual([404, "404 Not Found"]);
  });

  test.each(["application/json", "text/event-stream", ""])(
    "is refused to a client that accepts %j alone",
    async (accept) => {
      const response = await send({ jsonrpc: "2.0", id: 1, method: "ping" }, { Accept: accept });
      expect(response.status).toBe(406);
      expect(await response.json()).toMatchObject({ id: null, error: { code: -32000 } });
    },
  );

  test("is refused in a version that is not spoken", async () => {
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const refused = await send(ping, { "MCP-Protocol-Version": "1999-01-01" });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain("2025-11-25");
    const spoken = await send(ping, { "MCP-Protocol-Version": "2025-06-18" });
    expect(await spoken.json()).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  });

  test("refuses other methods, and names invalid parameters", async () => {
    expect(await post("resources/list")).toMatchObject({ id: 7, error: { code: -32601 } });
    const { error } = await post("tools/call", { arguments: {} });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("params.name") });
    expect((await post("tools/list", { cursor: "x" })).error?.code).toBe(-32602);
    expect((await send([])).status).toBe(422);
  });
});

describe("the tools", () => {
  test("are the assistants, with the schemas of their graphs", async () => {
    const listed = await tools();
    expect(listed.find(({ name }) => name === "typed")?.inputSchema).toMatchObject({
      type: "object",
      properties: { city: { type: "string" } },
    });
    // A plain function has no schema: it takes any object.
    expect(listed.find(({ name }) => name === "plain")?.inputSchema).toEqual({ type: "object" });
  });

  test("have unique names, also when an assistant has the name of a suffixed one", () => {
    const ids = [newId(), newId(), newId()];
    const names = ["Support", "Support", `Support-${ids[1]?.slice(-8)}`];
    const listed = names.map((name, n) => ({
      name,
      graph_id: "typed",
      assistant_id: ids[n] ?? "",
    }));
    const tools = toTools(listed as Assistant[]);
    expect(new Set(tools.map(({ name }) => name)).size).toBe(3);
    expect(tools.slice(0, 2).map(({ name }) => name)).toEqual(["Support", names[2]]);
  });

  test("of one name stay apart, and each runs its own", async () => {
    const like = { graph_id: "typed", name: "Weather, please!" };
    await assistant({ ...like, description: "Of a city", context: { model: "small" } });
    const second = await assistant({ ...like, description: "", context: { model: "large" } });
    const named = (await tools()).filter((tool) => tool.name.startsWith("Weather"));
    const other = `Weather__please_-${second.assistant_id.slice(-8)}`;
    expect(named.map((tool) => [tool.name, tool.description])).toEqual([
      ["Weather__please_", "Of a city"],
      [other, undefined],
    ]);
    const [first, large] = [
      await call("Weather__please_", { city: "Oslo" }),
      await call(other, { city: "Oslo" }),
    ];
    expect(first.structuredContent).toMatchObject({ city: "model: small" });
    expect(large.structuredContent).toMatchObject({ city: "model: large" });
  });

  test("come in pages", async () => {
    const many = Array.from({ length: 40 }, (_, n) => `page-${n}`);
    for (const name of many) await assistant({ graph_id: "echo", name });
    expect((await post("tools/list", {})).result?.nextCursor).toBeDefined();
    const names = (await tools()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(many));
    expect(new Set(names).size).toBe(names.length);
  });
});

describe("a call", () => {
  const hi = { messages: [{ role: "user", content: "hi" }] };

  test("runs the agent and returns its result as text and as structured content", async () => {
    const result = await call("echo", hi);
    expect(result).toMatchObject({
      isError: false,
      structuredContent: { messages: [{ content: "hi" }, { content: "echo: hi" }] },
    });
    expect(JSON.parse(result.content[0]?.text ?? "")).toEqual(result.structuredContent);
  });

  test("leaves no thread", async () => {
    await call("echo", hi);
    const found = await api(`${agent}/threads/search`, { key: ours.viewer, json: {} });
    expect(await found.json()).toEqual([]);
  });

  test("that fails, or is interrupted, is an error with its reason", async () => {
    expect(await call("fails", {})).toEqual({
      content: [{ type: "text", text: "RangeError: the node broke" }],
      isError: true,
    });
    const requested = await call("ask", {});
    expect(requested).toMatchObject({ isError: true });
    expect(requested.content[0]?.text).toContain('{"question":"go on?"}');
  });

  test("whose run is cancelled is an error, and not an empty result", async () => {
    const called = call("steps", { delay_ms: 60_000 });
    const cancel = () => api(`${agent}/runs/cancel`, { key: ours.editor, json: { status: "all" } });
    await expect.poll(async () => (await cancel()).status).toBe(204);
    expect(await called).toEqual({
      content: [{ type: "text", text: "The run was cancelled." }],
      isError: true,
    });
  });

  test("whose result is too large is an error with the way to it", async () => {
    const { content, isError } = await call("grows", { mib: 5, parts: 1, kind: "text" });
    expect([isError, content[0]?.text]).toEqual([true, expect.stringContaining("read its state")]);
  });

  test("of a tool that is not there is refused", async () => {
    expect(await post("tools/call", { name: "nobody" })).toMatchObject({
      error: { code: -32602, message: "Unknown tool: nobody" },
    });
  });

  test("viewers list tools and cannot call them", async () => {
    expect((await post("tools/list", {}, ours.viewer)).result).toBeDefined();
    const params = { name: "echo", arguments: hi };
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    expect((await send(message, {}, ours.viewer)).status).toBe(403);
  });
});
