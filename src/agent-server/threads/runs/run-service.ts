import type { Context } from "../../../shared/context.ts";
import { AppError } from "../../../shared/errors.ts";
import { httpSettings } from "../../access/service.ts";
import { assertWebhook } from "../../webhooks/service.ts";
import { threadNotFound } from "../loop/state-answers.ts";
import { threadWithFilters } from "../object/stub.ts";
import type { Principal, RunRecord, RunRefusal, RunTarget, StreamChoice } from "../records.ts";
import type { CancelAction, RunStatus } from "../runs.ts";
import {
  newThread,
  openAgent,
  openThread,
  tooMuchKept,
  toRevisionRef,
} from "../service/service.ts";
import { MAX_LIST_CHARACTERS } from "../storage/run-rows.ts";
import { configurableHeaders, newRunId, toNewRun } from "./new-run.ts";
import { allowRun, findRunAssistant } from "./run-access-service.ts";
import type { RunCreate } from "./run-schema.ts";

export async function createRun(ctx: Context, target: RunTarget, input: RunCreate) {
  const { order, object, thread_id } = await prepare(ctx, target, input);
  return accepted(await object.createRun(order), thread_id).run;
}

export async function streamRun(
  ctx: Context,
  target: RunTarget,
  input: RunCreate,
  namespaces: string[] | null,
) {
  const { order, object, thread_id } = await prepare(ctx, target, input);
  const cancel_on_disconnect = input.on_disconnect === "cancel";
  const choice = { after: -1, modes: null, namespaces, cancel_on_disconnect };
  return accepted(await object.streamRun(order, choice), thread_id);
}

/** Threadless runs, each as if it had come alone; none where one names an assistant that is not there. */
export async function createRunBatch(ctx: Context, target: RunTarget, inputs: RunCreate[]) {
  const prepared = await Promise.all(inputs.map((input) => prepare(ctx, target, input)));
  return Promise.all(
    prepared.map(
      async ({ order, object, thread_id }) =>
        accepted(await object.createRun(order), thread_id).run,
    ),
  );
}

export async function waitRun(ctx: Context, target: RunTarget, input: RunCreate) {
  const { order, object, thread_id } = await prepare(ctx, target, input);
  return accepted(await object.waitRun(order, input.on_disconnect ?? "continue"), thread_id);
}

/** A run that a command has asked for, and the last event before it; or that it has nothing to answer. */
export async function commandRun(ctx: Context, target: RunTarget, input: RunCreate) {
  const { order, object, thread_id } = await prepare(ctx, target, input);
  const answer = await object.commandRun(order);
  if (
    !answer.ok &&
    (answer.refusal === "no_pending_interrupt" || answer.refusal === "unknown_interrupt")
  ) {
    return { refusal: answer.refusal };
  }
  return accepted(answer, thread_id);
}

async function prepare(ctx: Context, target: RunTarget, asked: RunCreate) {
  const run_id = target.run_id ?? newRunId();
  // A threadless run lives on a thread of its own that shares its id, so that its id alone finds it.
  const thread_id = target.thread_id ?? run_id;
  const agent = await openAgent(ctx, target.deployment_id, "write", thread_id);
  const http = httpSettings(agent.config);
  assertWebhook(ctx.env, asked.webhook, agent.config);
  const wanted = { thread_id: target.thread_id, run_id, input: asked };
  const { input, filters, thread_metadata } = await allowRun(ctx, agent, wanted);
  const keeps = input.on_completion === "keep" || input.on_completion === "continue";
  const temporary = target.thread_id === null && !keeps;
  const creates = target.thread_id === null || input.if_not_exists === "create";
  const order = toNewRun(input, {
    assistant: await findRunAssistant(ctx, agent, input.assistant_id),
    revision: toRevisionRef(agent),
    created_by: toPrincipal(ctx, target.origin),
    headers: configurableHeaders(target.headers, http),
    run_id,
    create_thread: creates ? { ...newThread(agent, thread_id, thread_metadata), temporary } : null,
    temporary,
    ...(target.protocol && { protocol: target.protocol }),
  });
  if (target.answers) order.answers = target.answers;
  const object = threadWithFilters(ctx.env, agent.deployment_id, thread_id, filters);
  return { order, object, thread_id };
}

/** Whose runs they are, kept with what starts them. */
export function toPrincipal({ caller, access }: Context, origin: string): Principal {
  return access?.user ? { caller, origin, user: access.user } : { caller, origin };
}

function accepted<T extends { ok: true; run: RunRecord }>(
  answer: T | { ok: false; refusal: RunRefusal },
  thread_id: string,
): T {
  if (answer.ok) return answer;
  if (answer.refusal === "busy") {
    throw new AppError(
      "conflict",
      "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.",
    );
  }
  if (answer.refusal === "too_large") throw tooMuchKept("metadata or config");
  throw threadNotFound(thread_id);
}

type RunId = { deployment_id: string; thread_id: string; run_id: string };

export async function getRun(ctx: Context, { deployment_id, thread_id, run_id }: RunId) {
  const { object } = await openThread(ctx, { deployment_id, thread_id }, "read", {});
  return (await object.getRun(run_id)) ?? runNotFound();
}

export async function listRuns(
  ctx: Context,
  thread: Omit<RunId, "run_id">,
  query: { status?: RunStatus | undefined; limit: number; offset: number },
) {
  const { object } = await openThread(ctx, thread, "search", { metadata: {} });
  const runs = await object.listRuns(query);
  if (!runs) throw threadNotFound(thread.thread_id);
  if (runs === "too_large") {
    const message = `limit: the runs have more than ${MAX_LIST_CHARACTERS} characters with their inputs; use a smaller limit.`;
    throw new AppError("too_large", message);
  }
  return runs;
}

export async function joinRun(ctx: Context, id: RunId, cancel_on_disconnect: boolean) {
  const object = await openFollowed(ctx, id, cancel_on_disconnect);
  return (await object.joinRun(id.run_id, cancel_on_disconnect)) ?? runNotFound();
}

export async function followRun(ctx: Context, id: RunId, follow: StreamChoice) {
  const object = await openFollowed(ctx, id, follow.cancel_on_disconnect);
  return (await object.followRun(id.run_id, follow)) ?? runNotFound();
}

async function openFollowed(ctx: Context, { run_id: _, ...thread }: RunId, cancels: boolean) {
  const { object } = await openThread(ctx, thread, "read", {});
  // To leave is then to cancel.
  return cancels ? (await openThread(ctx, thread, "update", CANCEL)).object : object;
}

const CANCEL: { action: CancelAction; metadata: Record<string, unknown> } = {
  action: "interrupt",
  metadata: {},
};

export async function cancelRun(
  ctx: Context,
  { deployment_id, thread_id, run_id }: RunId,
  action: CancelAction,
  options: { wait: boolean; reason: string | null },
) {
  const asked = { ...CANCEL, action };
  const { object } = await openThread(ctx, { deployment_id, thread_id }, "update", asked);
  if (!(await object.cancelRun(run_id, action, options))) runNotFound();
}

export async function deleteRun(ctx: Context, { deployment_id, thread_id, run_id }: RunId) {
  const { object } = await openThread(ctx, { deployment_id, thread_id }, "delete", { run_id });
  if (!(await object.deleteRun(run_id))) runNotFound();
}

function runNotFound(): never {
  throw new AppError("not_found", "Run not found");
}
