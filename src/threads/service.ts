import { v7 } from "uuid";
import { type ActiveRevision, activeRevision } from "../deployments/service.ts";
import { assertMay } from "../shared/auth.ts";
import type { Context } from "../shared/context.ts";
import { AppError, invalid } from "../shared/errors.ts";
import { MAX_KEPT_CHARACTERS } from "./merge.ts";
import type { NewThread, RevisionRef, ThreadRecord } from "./records.ts";
import type { ThreadCreate } from "./schema.ts";
import { threadObject } from "./stub.ts";

/** A deployment of the caller's workspace, by id or slug, with the revision that serves it, or this thread of it. */
export async function openAgent(
  ctx: Context,
  deployment_id: string,
  scope: "read" | "write",
  thread_id: string | null = null,
): Promise<ActiveRevision> {
  assertMay(ctx, scope);
  return activeRevision(ctx, deployment_id, thread_id);
}

export async function createThread(
  ctx: Context,
  deployment_id: string,
  input: ThreadCreate,
): Promise<ThreadRecord> {
  const agent = await openAgent(ctx, deployment_id, "write");
  const thread = newThread(agent, input.thread_id ?? v7(), input.metadata);
  const object = threadObject(ctx.env, agent.deployment_id, thread.thread_id);
  const created = await object.createThread(thread);
  if (created) return created;
  const existing = input.if_exists === "do_nothing" ? await object.getThread() : null;
  if (existing) return existing;
  throw new AppError("conflict", "Thread already exists");
}

export async function getThread(ctx: Context, deployment_id: string, thread_id: string) {
  const agent = await openAgent(ctx, deployment_id, "read");
  const thread = await threadObject(ctx.env, agent.deployment_id, thread_id).getThread();
  if (!thread) throw threadNotFound(thread_id);
  return thread;
}

export async function updateThread(
  ctx: Context,
  deployment_id: string,
  thread_id: string,
  metadata: Record<string, unknown>,
) {
  const agent = await openAgent(ctx, deployment_id, "write");
  const thread = await threadObject(ctx.env, agent.deployment_id, thread_id).patchThread(metadata);
  if (thread === "thread_missing") throw threadNotFound(thread_id);
  if (thread === "too_large") throw tooMuchKept("metadata");
  return thread;
}

export async function deleteThread(ctx: Context, deployment_id: string, thread_id: string) {
  const agent = await openAgent(ctx, deployment_id, "write");
  const deleted = await threadObject(ctx.env, agent.deployment_id, thread_id).deleteThread();
  if (!deleted) throw threadNotFound(thread_id);
}

export function newThread(
  { deployment_id, workspace_id }: ActiveRevision,
  thread_id: string,
  metadata: Record<string, unknown>,
): NewThread {
  return { thread_id, deployment_id, workspace_id, metadata, temporary: false };
}

export function tooMuchKept(what: string, whose = "thread"): AppError {
  const text = `the ${whose}'s ${what} would have more than ${MAX_KEPT_CHARACTERS} characters of JSON`;
  return invalid(["body"], text, "too_large");
}

export function toRevisionRef({
  deployment_id,
  revision_id,
  secrets_version,
}: ActiveRevision): RevisionRef {
  return { deployment_id, revision_id, secrets_version };
}

/** Clients look for exactly this text. */
export function threadNotFound(thread_id: string): AppError {
  return new AppError("not_found", `Thread with ID ${thread_id} not found`);
}
