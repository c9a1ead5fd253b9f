import type { Context } from "../../shared/context.ts";
import { nullIfNotFound } from "../../shared/errors.ts";
import { commandRun } from "../threads/api/runs/run-service.ts";
import { getThread } from "../threads/api/threads/service.ts";
import type { RunTarget } from "../threads/contract/records.ts";
import { RunCreate } from "../threads/contract/requests/run-schema.ts";
import {
  type CommandCall,
  type CommandOutcome,
  commandFailure,
  formatIssues,
  invalidArgument,
  type ParseResult,
  parseParams,
} from "../threads/events/command.ts";
import { lastSeqOf } from "../threads/events/event.ts";
import { InputRespond, RunStart } from "../threads/events/schema.ts";
import type { EventSession } from "../threads/events/session.ts";

/** Stream modes of a run that a command starts: events of the protocol are made from them. */
const MODES = ["values", "updates", "messages-tuple", "tools", "custom", "tasks"];

export async function startRun(
  ctx: Context,
  session: EventSession,
  call: CommandCall,
): Promise<CommandOutcome> {
  const params = parseParams(RunStart, call);
  if (params.type === "error") return params;
  const { multitaskStrategy, multitask_strategy, ...given } = params.value;
  const { assistant_id, input, context, config, metadata, langsmith_tracer } = given;
  const run = toRunCreate({
    ...{ assistant_id, input, context, config, metadata, langsmith_tracer },
    multitask_strategy: multitaskStrategy ?? multitask_strategy,
    if_not_exists: "create",
  });
  if (run.type === "error") return run;
  const started = await commandRun(ctx, toTarget(session, "input"), run.value);
  if (!started.ok) return refused(started.refusal);
  const { run_id } = started.run;
  return {
    type: "success",
    result: { run_id },
    applied_through_seq: lastSeqOf(started.last_event),
  };
}

export async function respond(
  ctx: Context,
  session: EventSession,
  call: CommandCall,
): Promise<CommandOutcome> {
  const params = parseParams(InputRespond, call);
  if (params.type === "error") return params;
  const resume = resumeOf(params.value);
  const answers = Object.keys(resume);
  if (answers.length === 0)
    return invalidArgument(
      "input.respond: name the interrupt by interrupt_id, or several by responses.",
    );
  const assistant_id = await boundAssistant(ctx, session);
  if (assistant_id === null) {
    return commandFailure("no_such_run", "The thread has no run: start one first.");
  }
  const { update, goto, config, metadata, strict_resume } = params.value;
  const command = { resume, update, goto };
  const run = toRunCreate({ assistant_id, command, config, metadata, strict_resume });
  if (run.type === "error") return run;
  const started = await commandRun(ctx, toTarget(session, answers), run.value);
  if (!started.ok) return refused(started.refusal);
  return { type: "success", result: {}, applied_through_seq: lastSeqOf(started.last_event) };
}

function resumeOf({ interrupt_id, response, responses }: InputRespond): Record<string, unknown> {
  const one = interrupt_id ? [{ interrupt_id, response }] : [];
  const all = (responses ?? one).map((given) => [given.interrupt_id, given.response ?? null]);
  return Object.fromEntries(all);
}

/** Returns the assistant of the thread's last run, `null` when the thread has no run or does not exist. */
async function boundAssistant(ctx: Context, session: EventSession): Promise<string | null> {
  const thread = await nullIfNotFound(getThread(ctx, session.deployment_id, session.thread_id));
  const assistant_id = thread?.metadata.assistant_id;
  return typeof assistant_id === "string" ? assistant_id : null;
}

function toRunCreate(body: Record<string, unknown>): ParseResult<RunCreate> {
  const given = { ...body, stream_mode: MODES, stream_subgraphs: true, stream_resumable: true };
  const run = RunCreate.safeParse(given);
  return run.success
    ? { type: "success", value: run.data }
    : invalidArgument(formatIssues(run.error));
}

function toTarget(
  { deployment_id, thread_id, headers, origin }: EventSession,
  answers: string[] | "input",
): RunTarget {
  return { deployment_id, thread_id, headers, origin, protocol: "v2", answers };
}

function refused(refusal: "no_pending_interrupt" | "unknown_interrupt"): CommandOutcome {
  if (refusal === "unknown_interrupt") {
    return commandFailure(
      "no_such_interrupt",
      "The interrupt is not pending: read the state for pending interrupts.",
    );
  }
  return invalidArgument("No interrupt is pending: input.respond resumes an interrupt.");
}
