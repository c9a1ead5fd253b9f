import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { isRecord } from "../../shared/guards.ts";
import {
  RPC_ERRORS,
  RpcError,
  type RpcId,
  rpcParams,
  rpcResult,
} from "../../shared/http/json-rpc.ts";
import { newId } from "../../shared/storage/ids.ts";
import { openAgent } from "../access/service.ts";
import { getSchemas } from "../threads/api/assistants/graph-service.ts";
import { toStream } from "../threads/api/run-http.ts";
import { createRun, streamRun, waitRun } from "../threads/api/runs/run-service.ts";
import { RunCreate } from "../threads/contract/requests/run-schema.ts";
import { textsOf, toInput, toResume } from "./messages.ts";
import { A2A_ERRORS, SendParams } from "./schema.ts";
import { type A2aAnswer, type A2aTarget, toTaskEvents, toWaitedAnswer } from "./stream.ts";
import { type ResultFormat, stateOf, type TaskSnapshot, toTask } from "./task.ts";
import { deleteTask, insertTask, replaceRun, type TaskRow } from "./task-rows.ts";
import { openTask, readTask } from "./task-status.ts";

/** Stream modes of the run of a task. */
export const TASK_MODES = ["messages-tuple"] as const;

type Message = SendParams["message"];
/** A task and its next run. `row`: the task's row with that run. `former`: its earlier row, `null` for a new task. */
type Planned = { row: TaskRow; former: TaskRow | null; run: RunCreate; target: A2aTarget };

export async function sendMessage(
  ctx: Context,
  target: A2aTarget,
  id: RpcId,
  params: unknown,
  format: ResultFormat,
): Promise<A2aAnswer> {
  const sendParams = rpcParams(SendParams, params);
  const planned = await plan(ctx, target, sendParams);
  const { row, run, target: at } = planned;
  const { blocking = true, historyLength } = sendParams.configuration ?? {};
  const read = async () => format.event(toTask(await readTask(ctx, row), historyLength));
  if (!blocking) {
    await acceptAs(ctx, planned, () => createRun(ctx, at, run));
    return rpcResult(id, await read());
  }
  const { body } = await acceptAs(ctx, planned, () => waitRun(ctx, at, run));
  return { text: toWaitedAnswer(id, toStream(body), read) };
}

export async function streamMessage(
  ctx: Context,
  target: A2aTarget,
  id: RpcId,
  params: unknown,
  format: ResultFormat,
): Promise<A2aAnswer> {
  const sendParams = rpcParams(SendParams, params);
  const planned = await plan(ctx, target, sendParams);
  const { row, run, target: at } = planned;
  const { events, run: made } = await acceptAs(ctx, planned, () => streamRun(ctx, at, run, null));
  const { task_id, thread_id } = row;
  const { updated_at } = made;
  const task: TaskSnapshot = {
    ...{ task_id, thread_id, run_id: row.run_id, status: "pending", updated_at },
    ...{ error: null, values: null, interrupts: [] },
  };
  return { events: toTaskEvents(id, task, toStream(events), () => readTask(ctx, row), format) };
}

/**
 * Saves the task before the run is accepted: without its row the run could not be found. Restores the row when the run
 * is refused.
 */
async function acceptAs<T>(
  ctx: Context,
  { row, former }: Planned,
  accept: () => Promise<T>,
): Promise<T> {
  if (!former) await insertTask(ctx, row);
  else if (!(await replaceRun(ctx, former, row))) throw outdated(row);
  try {
    return await accept();
  } catch (error) {
    const { status, code } = AppError.from(error);
    if (status < 500) await restore(ctx, row, former);
    throw former && code === "conflict" ? outdated(row) : error;
  }
}

async function restore(ctx: Context, row: TaskRow, former: TaskRow | null): Promise<void> {
  if (former) await replaceRun(ctx, row, former);
  else await deleteTask(ctx, row);
}

function outdated({ task_id }: TaskRow): RpcError {
  const text = `Task ${task_id} has received another message: read it again.`;
  return new RpcError(A2A_ERRORS.unsupported_operation, text);
}

async function plan(ctx: Context, target: A2aTarget, sendParams: SendParams): Promise<Planned> {
  const { message, configuration, metadata } = sendParams;
  const agent = await openAgent(ctx, target.deployment_id, "write");
  if (configuration?.pushNotificationConfig) {
    const text = "Push notifications are not supported: use a webhook.";
    throw new RpcError(A2A_ERRORS.push_notification_not_supported, text);
  }
  if (message.parts.some(({ kind }) => kind === "file")) {
    throw new RpcError(A2A_ERRORS.content_type_not_supported, "Files are not supported");
  }
  const { task, former, after_run_id, body } = message.taskId
    ? await asAnswer(ctx, agent.deployment_id, message, message.taskId)
    : await asNewTask(ctx, target, message);
  const { assistant_id } = target;
  const run = rpcParams(RunCreate, {
    ...{ assistant_id, metadata, if_not_exists: "create" },
    ...{ stream_mode: TASK_MODES, stream_subgraphs: true, ...body },
  });
  const { workspace_id } = ctx.caller;
  const created_at = new Date().toISOString();
  const row = { ...task, deployment_id: agent.deployment_id, workspace_id, created_at };
  const { thread_id, run_id } = task;
  return { row, former, run, target: { ...target, thread_id, run_id, after_run_id } };
}

async function asNewTask(ctx: Context, target: A2aTarget, { parts, messageId, ...at }: Message) {
  if (textsOf(parts).length > 0) await assertAcceptsText(ctx, target);
  const run_id = newId();
  const thread_id = at.contextId ?? newId();
  const task = { task_id: run_id, run_id, thread_id, former_run_id: null };
  const body = { input: toInput(parts, messageId) };
  return { task, former: null, after_run_id: undefined, body };
}

/** Returns the next run of a task: a message resumes the task's interrupt, or continues its graph where it stopped. */
async function asAnswer(
  ctx: Context,
  deployment_id: string,
  { parts, contextId }: Message,
  task_id: string,
) {
  const row = await openTask(ctx, deployment_id, task_id);
  const { thread_id } = row;
  if (contextId !== undefined && contextId !== thread_id) {
    throw new RpcError(
      RPC_ERRORS.invalid_params,
      "params.message.contextId: must be the context of the task",
    );
  }
  const task = await readTask(ctx, row);
  const state = stateOf(task);
  if (state !== "input-required") {
    const text = `Task ${task_id} is ${state} and accepts no message: leave out taskId to start another task.`;
    throw new RpcError(A2A_ERRORS.unsupported_operation, text);
  }
  // A graph that stopped before a node has no interrupt to resume: the message only lets it continue.
  const answer =
    task.interrupts.length > 0 ? { command: { resume: toResume(parts) } } : { input: null };
  const body = { ...answer, multitask_strategy: "reject" };
  const { run_id: after_run_id } = task;
  const next = { task_id, thread_id, run_id: newId(), former_run_id: after_run_id };
  return { task: next, former: row, after_run_id, body };
}

/** Text parts become the field `messages` of the input. @throws RpcError when the input schema has no such field */
async function assertAcceptsText(ctx: Context, ref: A2aTarget): Promise<void> {
  const { input_schema } = await getSchemas(ctx, ref);
  const properties = input_schema?.properties;
  if (!isRecord(properties) || "messages" in properties) return;
  const text = `params.message.parts: the input of this agent has no messages: send a data part with ${Object.keys(properties).join(", ")}`;
  throw new RpcError(RPC_ERRORS.invalid_params, text);
}
