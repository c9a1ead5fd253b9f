import type { Context } from "../../shared/context.ts";
import { invalid } from "../../shared/errors.ts";
import {
  answerRpc,
  RPC_ERRORS,
  RpcError,
  type RpcId,
  type RpcMessage,
  type RpcRequest,
  rpcParams,
  rpcResult,
  toRequest,
} from "../../shared/http/json-rpc.ts";
import { openAgent, skipAuthorization } from "../access/service.ts";
import { getAssistant } from "../threads/api/assistants/assistant-service.ts";
import { cancelRun, followRun } from "../threads/api/runs/run-service.ts";
import { systemAssistantId } from "../threads/contract/assistant-ids.ts";
import { isSystem, toCard, toCardV1 } from "./card.ts";
import { A2A_ERRORS, type AgentCard, TaskParams, VERSION_HEADER } from "./schema.ts";
import { sendMessage, streamMessage, TASK_MODES } from "./send.ts";
import { type A2aAnswer, type A2aTarget, toFrame, toTaskEvents } from "./stream.ts";
import { isEnded, type ResultFormat, toTask, V0_3 } from "./task.ts";
import { openTask, readTask } from "./task-status.ts";
import { fromV1, isV1, V1, withErrorInfo } from "./v1.ts";

const STREAMING = ["message/stream", "tasks/resubscribe"];

/** @returns `null` for notifications, which are ignored */
export async function answerA2a(
  ctx: Context,
  target: A2aTarget,
  message: RpcMessage,
  version: string,
): Promise<A2aAnswer | null> {
  await openAgent(ctx, target.deployment_id, "read");
  // Services authorize the operations on tasks, assistants and threads.
  skipAuthorization(ctx);
  const request = toRequest(message);
  if (!request) return null;
  const [call, format] = isV1(request) ? [fromV1(request), V1] : [request, V0_3];
  const answer = await answerRpc<A2aAnswer>(call, () => {
    assertVersion(version);
    return dispatch(ctx, target, call, format);
  });
  if (!("jsonrpc" in answer)) return answer;
  const written = format === V1 ? withErrorInfo(answer) : answer;
  if (!STREAMING.includes(call.method)) return written;
  return { events: new Response(toFrame(written)).body ?? new ReadableStream() };
}

/** Accepts a missing version too. The method decides between 0.3 and 1.0, because clients of 0.3 send no version. */
function assertVersion(version: string): void {
  if (/^$|^(0\.3|1\.0)(\.\d{1,5})?$/.test(version.trim())) return;
  const text = `${VERSION_HEADER}: only 0.3 and 1.0 are supported`;
  throw new RpcError(A2A_ERRORS.version_not_supported, text);
}

async function dispatch(
  ctx: Context,
  target: A2aTarget,
  { id, method, params }: RpcRequest,
  format: ResultFormat,
): Promise<A2aAnswer> {
  switch (method) {
    case "message/send":
      return sendMessage(ctx, target, id, params, format);
    case "message/stream":
      return streamMessage(ctx, target, id, params, format);
    case "tasks/get":
      return rpcResult(id, format.task(await getTask(ctx, target, params)));
    case "tasks/cancel":
      return rpcResult(id, format.task(await cancelTask(ctx, target, params)));
    case "tasks/resubscribe":
      return resubscribe(ctx, target, id, params, format);
    default:
      throw noMethod(method);
  }
}

function noMethod(method: string): RpcError {
  if (method.startsWith("tasks/pushNotificationConfig/")) {
    const text = "Push notifications are not supported: use a webhook.";
    return new RpcError(A2A_ERRORS.push_notification_not_supported, text);
  }
  return new RpcError(RPC_ERRORS.method_not_found, `Unknown method "${method}"`);
}

async function getTask(ctx: Context, { deployment_id }: A2aTarget, params: unknown) {
  const { id, historyLength } = rpcParams(TaskParams, params);
  const agent = await openAgent(ctx, deployment_id, "read");
  const row = await openTask(ctx, agent.deployment_id, id);
  return toTask(await readTask(ctx, row), historyLength);
}

async function cancelTask(ctx: Context, { deployment_id }: A2aTarget, params: unknown) {
  const { id } = rpcParams(TaskParams, params);
  const agent = await openAgent(ctx, deployment_id, "write");
  const row = await openTask(ctx, agent.deployment_id, id);
  const task = await readTask(ctx, row);
  // A task that waits for an answer has no run to cancel.
  if (isEnded(task) || task.status === "success") {
    const text = `Task ${id} is not running.`;
    throw new RpcError(A2A_ERRORS.task_not_cancelable, text);
  }
  const options = { wait: true, reason: "a2a: its client cancelled the task" };
  await cancelRun(ctx, row, "interrupt", options);
  return toTask(await readTask(ctx, row));
}

async function resubscribe(
  ctx: Context,
  { deployment_id }: A2aTarget,
  id: RpcId,
  params: unknown,
  format: ResultFormat,
): Promise<A2aAnswer> {
  const { id: task_id } = rpcParams(TaskParams, params);
  const agent = await openAgent(ctx, deployment_id, "read");
  const row = await openTask(ctx, agent.deployment_id, task_id);
  const begin = await readTask(ctx, row);
  if (format === V1 && isEnded(begin)) {
    const text = `Task ${task_id} has ended: get it instead.`;
    throw new RpcError(A2A_ERRORS.unsupported_operation, text);
  }
  const modes = [...TASK_MODES];
  const all = { after: -1, modes, namespaces: null, cancel_on_disconnect: false };
  // The current run of the row may not exist: see `readTask`.
  const events = await followRun(ctx, { ...row, run_id: begin.run_id }, all);
  return { events: toTaskEvents(id, begin, events, () => readTask(ctx, row), format) };
}

/**
 * Returns the card of an assistant, by default the one of the deployment's only graph.
 * @throws AppError without an assistant when the deployment has several graphs
 */
export async function getCard(
  ctx: Context,
  ref: { deployment_id: string; assistant_id?: string | undefined },
  server_url: string,
  version: string,
): Promise<AgentCard> {
  const { deployment_id } = ref;
  const { graphs } = await openAgent(ctx, deployment_id, "read");
  const [only] = graphs.length === 1 ? graphs : [];
  const assistant_id = ref.assistant_id ?? only;
  if (assistant_id === undefined) {
    const text = `required: one of ${graphs.join(", ")}`;
    throw invalid(["query", "assistant_id"], text, "missing");
  }
  const assistant = await getAssistant(ctx, { deployment_id, assistant_id });
  const system = { deployment_id, assistant_id: systemAssistantId(assistant.graph_id) };
  const graph = isSystem(assistant) ? assistant : await getAssistant(ctx, system);
  const url = `${server_url}/a2a/${assistant.assistant_id}`;
  const write = version.startsWith("1.") ? toCardV1 : toCard;
  return write(assistant, graph.description, url);
}
