import type { ActiveRevision } from "../../control-plane/deployments/api/service.ts";
import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { configurableHeaders, httpSettings } from "../access/service.ts";
import { openThread } from "../threads/api/threads/service.ts";
import { threadNotFound } from "../threads/contract/state-answers.ts";
import type { EventFilter } from "../threads/events/filter.ts";
import type { EventSession } from "../threads/events/session.ts";
import { threadSocket } from "../threads/object/stub.ts";

/** Streams the matching events of a thread after the sequence number `since`. */
export async function followEvents(
  ctx: Context,
  session: EventSession,
  filter: EventFilter,
  since: number,
): Promise<ReadableStream> {
  const { object, agent } = await openThread(ctx, session, "read", {});
  const stream = await object.followEvents(filter, since, toKept(session, agent));
  if (!stream) throw threadNotFound(session.thread_id);
  return stream;
}

/** Opens a socket. The server's half belongs to the thread's object, which may hibernate between events. */
export async function openSocket(
  ctx: Context,
  session: EventSession,
  isUpgrade: boolean,
): Promise<Response> {
  const agent = await assertVisible(ctx, session);
  if (!isUpgrade) {
    const text =
      "WebSocket upgrade required: send Upgrade: websocket, or POST for server-sent events.";
    throw new AppError("bad_request", text);
  }
  return threadSocket(ctx.env, agent.deployment_id, toKept(session, agent));
}

/**
 * @throws AppError `not_found` when the caller may not see the thread. A thread that does not exist is visible: callers
 *   may wait for its creation
 */
export async function assertVisible(ctx: Context, session: EventSession): Promise<ActiveRevision> {
  const { object, agent } = await openThread(ctx, session, "read", {});
  if (await object.isVisible()) return agent;
  throw threadNotFound(session.thread_id);
}

/**
 * Returns the graphs and tasks of a run, and the id of the thread's last event. `run_id`: `null` for the newest run.
 */
export async function readTree(ctx: Context, session: EventSession, run_id: string | null) {
  const { object } = await openThread(ctx, session, "read", {});
  return object.readTree(run_id);
}

/** Returns the id of the thread's last event, 0 for a thread that does not exist. */
export async function readLastEvent(ctx: Context, session: EventSession): Promise<number> {
  const { object } = await openThread(ctx, session, "read", {});
  return object.readLastEvent();
}

/** Keeps only the headers that graphs may read. */
function toKept(session: EventSession, { config }: ActiveRevision): EventSession {
  return { ...session, headers: configurableHeaders(session.headers, httpSettings(config)) };
}
