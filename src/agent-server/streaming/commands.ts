import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { openAgent, skipAuthorization } from "../access/service.ts";
import { threadNotFound } from "../threads/contract/state-answers.ts";
import {
  type CommandCall,
  type CommandOutcome,
  commandFailure,
  invalidArgument,
} from "../threads/events/command.ts";
import type { Command, CommandAnswer } from "../threads/events/schema.ts";
import type { EventSession } from "../threads/events/session.ts";
import { respond, startRun } from "./run-commands.ts";
import { assertVisible } from "./service.ts";
import { handleGetState, handleGetTree } from "./state-commands.ts";

type CommandHandler = (
  ctx: Context,
  session: EventSession,
  call: CommandCall,
) => Promise<CommandOutcome>;

const COMMANDS: Record<string, CommandHandler> = {
  "run.start": startRun,
  "input.respond": respond,
  "agent.getTree": handleGetTree,
  "state.get": handleGetState,
  "subscription.subscribe": (ctx, session) => notSupported(ctx, session, NEEDS_STREAM),
  "subscription.unsubscribe": (ctx, session) => notSupported(ctx, session, NEEDS_STREAM),
  "subscription.reconnect": (ctx, session) => notSupported(ctx, session, RECONNECT),
};

const NEEDS_STREAM =
  "Subscriptions need a stream over HTTP: POST the channels to .../stream/events.";
const RECONNECT = "Subscribe again: stored events are replayed with their ids.";

/** Codes of failures that become the protocol error `invalid_argument`. Others, such as `forbidden`, are thrown. */
const COMMAND_ERRORS = ["bad_request", "invalid_request", "conflict", "not_found", "too_large"];

/** Executes a command. @throws AppError when the caller may not execute it, and for failures of the server */
export async function answerCommand(
  ctx: Context,
  session: EventSession,
  { id, method, params }: Command,
): Promise<CommandAnswer> {
  await openAgent(ctx, session.deployment_id, "read");
  const outcome = await outcomeOf(ctx, session, { method, params });
  if (outcome.type === "error") {
    // An invalid command fails before the authorization. Its error has no user data.
    skipAuthorization(ctx);
    return { ...outcome, id };
  }
  const { result, applied_through_seq } = outcome;
  const meta = { thread_id: session.thread_id, applied_through_seq };
  return { type: "success", id, result, meta };
}

async function outcomeOf(
  ctx: Context,
  session: EventSession,
  call: CommandCall,
): Promise<CommandOutcome> {
  const handler = Object.hasOwn(COMMANDS, call.method) ? COMMANDS[call.method] : undefined;
  if (!handler) {
    await assertVisible(ctx, session);
    return commandFailure("unknown_command", `Unknown command "${call.method}".`);
  }
  try {
    return await handler(ctx, session, call);
  } catch (error) {
    const failure = AppError.from(error);
    // Keeps the 404: a caller who may not see the thread receives the same error for each command.
    if (failure.message === threadNotFound(session.thread_id).message) throw failure;
    if (COMMAND_ERRORS.includes(failure.code)) return invalidArgument(failure.message);
    throw failure;
  }
}

async function notSupported(
  ctx: Context,
  session: EventSession,
  message: string,
): Promise<CommandOutcome> {
  await assertVisible(ctx, session);
  return commandFailure("not_supported", message);
}
