import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { openAgent, skipAuthorization } from "../access/service.ts";
import {
  type CommandFailure,
  invalidArgument,
  isFailure,
  issuesOf,
  readParams,
} from "../threads/events/envelope.ts";
import { lastSeqOf } from "../threads/events/event.ts";
import {
  type Command,
  type CommandAnswer,
  GetTree,
  InputRespond,
  RunStart,
  StateGet,
} from "../threads/events/schema.ts";
import type { Session } from "../threads/events/session.ts";
import { threadNotFound } from "../threads/loop/state-answers.ts";
import type { RunTarget } from "../threads/records.ts";
import { RunCreate } from "../threads/run-schema.ts";
import { commandRun } from "../threads/runs/run-service.ts";
import { getThread } from "../threads/service/service.ts";
import { getState } from "../threads/state/state-service.ts";
import { assertVisible, readTree } from "./service.ts";

/** The modes of a command's run: those that have a channel in the protocol. */
const MODES = ["values", "updates", "messages-tuple", "tools", "custom", "tasks"];

type Done = { result: Record<string, unknown>; applied_through_seq: number };
type Call = Pick<Command, "method" | "params">;
type Answerer = (ctx: Context, session: Session, call: Call) => Promise<Done | CommandFailure>;

const COMMANDS: Record<string, Answerer> = {
  "run.start": startRun,
  "input.respond": respond,
  "agent.getTree": getTree,
  "state.get": readState,
  "subscription.subscribe": (ctx, session) => notSupported(ctx, session, OVER_SOCKET),
  "subscription.unsubscribe": (ctx, session) => notSupported(ctx, session, OVER_SOCKET),
  "subscription.reconnect": (ctx, session) => notSupported(ctx, session, REPLAYED),
};

const OVER_SOCKET =
  "Subscriptions need a stream over HTTP: POST the channels to .../stream/events.";
const REPLAYED = "Subscribe again: stored events are replayed with their ids.";

/** Codes that become protocol errors. Others, such as a missing role, have an HTTP status. */
const COMMAND_ERRORS = ["bad_request", "invalid_request", "conflict", "not_found", "too_large"];

/** @throws AppError for failures that have an HTTP status */
export async function answerCommand(
  ctx: Context,
  session: Session,
  { id, method, params }: Command,
): Promise<CommandAnswer> {
  await openAgent(ctx, session.deployment_id, "read");
  const outcome = await outcomeOf(ctx, session, { method, params });
  if (isFailure(outcome)) {
    skipAuthorization(ctx);
    return { type: "error", id, ...outcome };
  }
  const { result, applied_through_seq } = outcome;
  const meta = { thread_id: session.thread_id, applied_through_seq };
  return { type: "success", id, result, meta };
}

async function outcomeOf(
  ctx: Context,
  session: Session,
  call: Call,
): Promise<Done | CommandFailure> {
  const answer = Object.hasOwn(COMMANDS, call.method) ? COMMANDS[call.method] : undefined;
  if (!answer) {
    await assertVisible(ctx, session);
    return { error: "unknown_command", message: `Unknown command "${call.method}".` };
  }
  try {
    return await answer(ctx, session, call);
  } catch (error) {
    const failure = AppError.from(error);
    // A caller who may not see the thread learns nothing about it.
    if (failure.message === threadNotFound(session.thread_id).message) throw failure;
    if (COMMAND_ERRORS.includes(failure.code)) return invalidArgument(failure.message);
    throw failure;
  }
}

async function startRun(
  ctx: Context,
  session: Session,
  call: Call,
): Promise<Done | CommandFailure> {
  const params = readParams(RunStart, call);
  if (isFailure(params)) return params;
  const { multitaskStrategy, multitask_strategy, ...given } = params.ok;
  const { assistant_id, input, context, config, metadata, langsmith_tracer } = given;
  const run = toRunCreate({
    ...{ assistant_id, input, context, config, metadata, langsmith_tracer },
    multitask_strategy: multitaskStrategy ?? multitask_strategy,
    if_not_exists: "create",
  });
  if (isFailure(run)) return run;
  const started = await commandRun(ctx, toTarget(session, "input"), run.ok);
  if (!started.ok) return refused(started.refusal);
  const { run_id } = started.run;
  return { result: { run_id }, applied_through_seq: lastSeqOf(started.last_event) };
}

async function respond(ctx: Context, session: Session, call: Call): Promise<Done | CommandFailure> {
  const params = readParams(InputRespond, call);
  if (isFailure(params)) return params;
  const resume = resumeOf(params.ok);
  const answers = Object.keys(resume);
  if (answers.length === 0)
    return invalidArgument(
      "input.respond: interrupt_id is required when several interrupts are pending.",
    );
  const assistant_id = await boundAssistant(ctx, session);
  if (assistant_id === null) {
    return { error: "no_such_run", message: "The thread has no run: start one first." };
  }
  const { update, goto, config, metadata, strict_resume } = params.ok;
  const command = { resume, update, goto };
  const run = toRunCreate({ assistant_id, command, config, metadata, strict_resume });
  if (isFailure(run)) return run;
  const started = await commandRun(ctx, toTarget(session, answers), run.ok);
  if (!started.ok) return refused(started.refusal);
  return { result: {}, applied_through_seq: lastSeqOf(started.last_event) };
}

function resumeOf({ interrupt_id, response, responses }: InputRespond): Record<string, unknown> {
  const one = interrupt_id ? [{ interrupt_id, response }] : [];
  const all = (responses ?? one).map((given) => [given.interrupt_id, given.response ?? null]);
  return Object.fromEntries(all);
}

/** The assistant of the thread's last run. */
async function boundAssistant(ctx: Context, session: Session): Promise<string | null> {
  const thread = await orNull(getThread(ctx, session.deployment_id, session.thread_id));
  const assistant_id = thread?.metadata.assistant_id;
  return typeof assistant_id === "string" ? assistant_id : null;
}

async function getTree(ctx: Context, session: Session, call: Call): Promise<Done | CommandFailure> {
  const params = readParams(GetTree, call);
  if (isFailure(params)) return params;
  const run_id = params.ok.run_id ?? null;
  const { tree, last_event } = await readTree(ctx, session, run_id);
  if (tree) return { result: { tree }, applied_through_seq: lastSeqOf(last_event) };
  const message = `The thread has no ${run_id === null ? "run yet" : `run ${run_id}`}.`;
  return { error: "no_such_run", message };
}

type State = {
  values: Record<string, unknown>;
  checkpoint: { checkpoint_id: string } | null;
};

async function readState(
  ctx: Context,
  session: Session,
  call: Call,
): Promise<Done | CommandFailure> {
  const params = readParams(StateGet, call);
  if (isFailure(params)) return params;
  const { namespace, keys } = params.ok;
  const ns = (namespace ?? []).join("|");
  const at = { ns, checkpoint_id: null, subgraphs: false, select: [] };
  const text = await orNull(getState(ctx, session, at));
  if (text === null) {
    const { message } = threadNotFound(session.thread_id);
    return { error: "no_such_checkpoint", message };
  }
  const { values, checkpoint } = JSON.parse(text) as State;
  if (checkpoint === null && ns !== "") {
    return { error: "no_such_namespace", message: `The namespace ${ns} has no state.` };
  }
  const shown = Object.entries(values).filter(([key]) => !keys || keys.includes(key));
  const result = {
    values: Object.fromEntries(shown),
    ...(checkpoint && { checkpoint: { id: checkpoint.checkpoint_id, ns } }),
  };
  const { last_event } = await readTree(ctx, session, null);
  return { result, applied_through_seq: lastSeqOf(last_event) };
}

async function notSupported(
  ctx: Context,
  session: Session,
  message: string,
): Promise<CommandFailure> {
  await assertVisible(ctx, session);
  return { error: "not_supported", message };
}

function toRunCreate(body: Record<string, unknown>): { ok: RunCreate } | CommandFailure {
  const given = { ...body, stream_mode: MODES, stream_subgraphs: true, stream_resumable: true };
  const run = RunCreate.safeParse(given);
  return run.success ? { ok: run.data } : invalidArgument(issuesOf(run.error));
}

function toTarget(
  { deployment_id, thread_id, headers, origin }: Session,
  answers: string[] | "input",
): RunTarget {
  return { deployment_id, thread_id, headers, origin, protocol: "v2", answers };
}

function refused(refusal: "no_pending_interrupt" | "unknown_interrupt"): CommandFailure {
  if (refusal === "unknown_interrupt") {
    return {
      error: "no_such_interrupt",
      message: "The interrupt is not pending: read the state for pending interrupts.",
    };
  }
  return invalidArgument("No interrupt is pending: input.respond resumes an interrupt.");
}

async function orNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (AppError.from(error).code === "not_found") return null;
    throw error;
  }
}
