import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import {
  answerRpc,
  RPC_ERRORS,
  type RpcAnswer,
  RpcError,
  type RpcMessage,
  type RpcRequest,
  rpcParams,
  rpcResult,
  toRequest,
} from "../../shared/http/json-rpc.ts";
import { VERSION } from "../../shared/http/version.ts";
import { openAgent, skipAuthorization } from "../access/service.ts";
import { Assistant } from "../threads/api/assistants/assistant-schema.ts";
import { searchAssistants } from "../threads/api/assistants/assistant-service.ts";
import { getSchemas } from "../threads/api/assistants/graph-service.ts";
import { toStream } from "../threads/api/run-http.ts";
import { waitRun } from "../threads/api/runs/run-service.ts";
import type { RunTarget } from "../threads/contract/records.ts";
import { RunCreate } from "../threads/contract/requests/run-schema.ts";
import { toToolAnswer } from "./call.ts";
import {
  CallToolParams,
  chooseVersion,
  InitializeParams,
  ListToolsParams,
  TOOLS_PAGE,
} from "./schema.ts";
import { type Tool, toInputSchema, toTools } from "./tools.ts";

/** Assistants beyond this number are not offered as tools. */
const MAX_TOOLS = 1000;

type Answer = RpcAnswer | ReadableStream;

/** @returns a response, or its text as a stream; `null` for a notification, which is ignored */
export async function answerMcp(
  ctx: Context,
  target: RunTarget,
  message: RpcMessage,
): Promise<Answer | null> {
  await openAgent(ctx, target.deployment_id, "read");
  // Services authorize the tool operations. The handshake has no user data.
  skipAuthorization(ctx);
  const request = toRequest(message);
  return request && answerRpc<Answer>(request, () => dispatch(ctx, target, request));
}

async function dispatch(ctx: Context, target: RunTarget, request: RpcRequest): Promise<Answer> {
  const { id, method, params } = request;
  switch (method) {
    case "initialize":
      return rpcResult(id, await initialize(ctx, target, params));
    case "ping":
      return rpcResult(id, {});
    case "tools/list":
      return rpcResult(id, await listTools(ctx, target, params));
    case "tools/call":
      return toToolAnswer(id, await callTool(ctx, target, params));
    default:
      throw new RpcError(RPC_ERRORS.method_not_found, `Unknown method "${method}"`);
  }
}

async function initialize(ctx: Context, { deployment_id }: RunTarget, params: unknown) {
  const { protocolVersion } = rpcParams(InitializeParams, params);
  const { name } = await openAgent(ctx, deployment_id, "read");
  return {
    protocolVersion: chooseVersion(protocolVersion),
    capabilities: { tools: {} },
    serverInfo: { name, version: VERSION },
  };
}

async function listTools(ctx: Context, { deployment_id }: RunTarget, params: unknown) {
  const from = Number(rpcParams(ListToolsParams, params).cursor ?? 0);
  const all = await findTools(ctx, deployment_id);
  const page = all.slice(from, from + TOOLS_PAGE);
  const tools = await Promise.all(
    page.map(async ({ assistant_id, ...tool }) => ({
      ...tool,
      inputSchema: await inputSchema(ctx, { deployment_id, assistant_id }),
    })),
  );
  const next = from + TOOLS_PAGE;
  return { tools, ...(next < all.length && { nextCursor: String(next) }) };
}

/** Returns the input schema of a tool. Falls back to any object when the graph cannot be built. */
async function inputSchema(ctx: Context, ref: { deployment_id: string; assistant_id: string }) {
  try {
    return toInputSchema((await getSchemas(ctx, ref)).input_schema);
  } catch (error) {
    const { code } = AppError.from(error);
    if (code === "invalid_request" || code === "not_found") return toInputSchema(null);
    throw error;
  }
}

async function callTool(ctx: Context, target: RunTarget, params: unknown): Promise<ReadableStream> {
  const call = rpcParams(CallToolParams, params);
  await openAgent(ctx, target.deployment_id, "write");
  const tools = await findTools(ctx, target.deployment_id);
  const tool = tools.find(({ name }) => name === call.name);
  if (!tool) throw new RpcError(RPC_ERRORS.invalid_params, `Unknown tool: ${call.name}`);
  const input = call.arguments ?? {};
  // Clients cannot reconnect to a tool call.
  const on_disconnect = "cancel";
  const run = RunCreate.parse({ assistant_id: tool.assistant_id, input, on_disconnect });
  return toStream((await waitRun(ctx, target, run, "join")).body);
}

async function findTools(ctx: Context, deployment_id: string): Promise<Tool[]> {
  const { rows } = await searchAssistants(ctx, deployment_id, {
    limit: MAX_TOOLS,
    offset: 0,
    sort_by: "created_at",
    sort_order: "asc",
    graph_id: undefined,
    name: undefined,
    metadata: undefined,
    select: undefined,
  });
  return toTools(rows.map((row) => Assistant.parse(row)));
}
