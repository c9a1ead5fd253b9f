import { type ActiveRevision, activeRevision } from "../deployments/service.ts";
import type { WireUpdate } from "../isolate/contract.ts";
import { assertMay } from "../shared/auth.ts";
import type { Context } from "../shared/context.ts";
import { AppError, invalid } from "../shared/errors.ts";
import { newId } from "../shared/ids.ts";
import { MAX_KEPT_CHARACTERS } from "./merge.ts";
import type { NewThread, RevisionRef, ThreadRecord } from "./records.ts";
import { textOf, threadNotFound } from "./state-answers.ts";
import { type ThreadCalls, threadObject } from "./stub.ts";
import type { StateWrite, ThreadCreate, ThreadPatch } from "./thread-schema.ts";
import { defaultTtl, type Ttl } from "./ttl.ts";

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

type ThreadRef = { deployment_id: string; thread_id: string };

export async function createThread(
  ctx: Context,
  deployment_id: string,
  input: ThreadCreate,
): Promise<ThreadRecord> {
  const thread_id = input.thread_id ?? newId();
  const agent = await openAgent(ctx, deployment_id, "write", thread_id);
  const thread = newThread(agent, thread_id, input.metadata, input.ttl);
  const object = threadObject(ctx.env, agent.deployment_id, thread_id);
  const created = await object.createThread(thread);
  if (created) return input.supersteps ? withState(object, agent, input.supersteps) : created;
  const existing = input.if_exists === "do_nothing" ? await object.getThread() : null;
  if (existing) return existing;
  throw new AppError("conflict", "Thread already exists");
}

/** A thread whose first state the graph refuses was never there. */
async function withState(
  object: ThreadCalls,
  agent: ActiveRevision,
  supersteps: NonNullable<ThreadCreate["supersteps"]>,
): Promise<ThreadRecord> {
  const updates = supersteps.map(({ updates }) => updates.map(toUpdate));
  const call = { ns: "", checkpoint_id: null, supersteps: updates };
  const answer = await object.updateState(call, toRevisionRef(agent));
  const thread = await object.getThread();
  if ("ok" in answer && answer.ok && thread) return thread;
  await object.deleteThread();
  textOf(answer, thread?.thread_id ?? "", null);
  throw new AppError("conflict", "The thread was deleted while it was made.");
}

function toUpdate({ values, command, as_node }: StateWrite): WireUpdate {
  return { values, command: command ?? null, as_node: as_node ?? null };
}

export async function getThread(ctx: Context, deployment_id: string, thread_id: string) {
  const agent = await openAgent(ctx, deployment_id, "read");
  const thread = await threadObject(ctx.env, agent.deployment_id, thread_id).getThread();
  if (!thread) throw threadNotFound(thread_id);
  return thread;
}

export async function updateThread(
  ctx: Context,
  { deployment_id, thread_id }: ThreadRef,
  { metadata, ttl }: Pick<ThreadPatch, "metadata"> & Partial<ThreadPatch>,
) {
  const agent = await openAgent(ctx, deployment_id, "write");
  const object = threadObject(ctx.env, agent.deployment_id, thread_id);
  const thread = await object.patchThread(metadata, ttl ?? null);
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
  { deployment_id, workspace_id, config }: ActiveRevision,
  thread_id: string,
  metadata: Record<string, unknown>,
  ttl: Ttl | undefined = undefined,
): NewThread {
  const kept = ttl ?? defaultTtl({ config });
  return { thread_id, deployment_id, workspace_id, metadata, temporary: false, ttl: kept };
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
