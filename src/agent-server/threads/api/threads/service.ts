import type { ActiveRevision } from "../../../../control-plane/deployments/api/service.ts";
import type { WireUpdate } from "../../../../isolate/contract.ts";
import type { Context } from "../../../../shared/context.ts";
import { AppError, invalid } from "../../../../shared/errors.ts";
import { newId } from "../../../../shared/storage/ids.ts";
import { authorize, metadataOf, openAgent } from "../../../access/service.ts";
import type { NewThread, RevisionRef, ThreadRecord } from "../../contract/records.ts";
import type {
  StateWrite,
  ThreadCreate,
  ThreadPatch,
} from "../../contract/requests/thread-schema.ts";
import { isKeepable, MAX_KEPT_CHARACTERS } from "../../contract/sizes.ts";
import { threadNotFound, updateText } from "../../contract/state-answers.ts";
import { defaultTtl, type Ttl } from "../../contract/ttl.ts";
import { threadWithFilters } from "../../object/stub.ts";
import type { ThreadCalls } from "../../object/thread-calls.ts";

export type ThreadRef = { deployment_id: string; thread_id: string };
export type ThreadAction = "create" | "read" | "update" | "delete" | "search" | "create_run";

/** Authorizes an action on a thread. For the returned `object`, a thread that the filters hide does not exist. */
export async function openThread<V extends object>(
  ctx: Context,
  { deployment_id, thread_id }: ThreadRef,
  action: ThreadAction,
  fields: V,
) {
  const isReading = action === "read" || action === "search";
  const agent = await openAgent(ctx, deployment_id, isReading ? "read" : "write", thread_id);
  const value = { thread_id, ...fields };
  const verdict = await authorize(ctx, { resource: "threads", action, value });
  const object = threadWithFilters(ctx.env, agent.deployment_id, thread_id, verdict.filters);
  return { agent, object, ...verdict };
}

export async function createThread(
  ctx: Context,
  deployment_id: string,
  input: ThreadCreate,
): Promise<ThreadRecord> {
  const thread_id = input.thread_id ?? newId();
  const { metadata, if_exists } = input;
  const fields = { metadata, if_exists };
  const { agent, object, value } = await openThread(
    ctx,
    { deployment_id, thread_id },
    "create",
    fields,
  );
  const thread = newThread(agent, thread_id, metadataToStore(value), input.ttl);
  const created = await object.createThread(thread);
  if (created) return input.supersteps ? withState(object, agent, input.supersteps) : created;
  const existing = input.if_exists === "do_nothing" ? await object.getThread() : null;
  if (existing) return existing;
  throw new AppError("conflict", "Thread already exists");
}

/** Writes the first state of a new thread. Deletes the thread when the graph rejects the state, or cannot be called. */
async function withState(
  object: ThreadCalls,
  agent: ActiveRevision,
  supersteps: NonNullable<ThreadCreate["supersteps"]>,
): Promise<ThreadRecord> {
  const updates = supersteps.map(({ updates }) => updates.map(toUpdate));
  const call = { ns: "", checkpoint_id: null, supersteps: updates };
  const answer = await object.updateState(call, toRevisionRef(agent)).catch(async (error) => {
    await object.deleteThread();
    throw error;
  });
  const thread = await object.getThread();
  if (answer.ok && thread) return thread;
  await object.deleteThread();
  updateText(answer, { thread_id: thread?.thread_id ?? "", checkpoint_id: null });
  throw new AppError("conflict", "The thread was deleted while it was created.");
}

function toUpdate({ values, command, as_node }: StateWrite): WireUpdate {
  return { values, command: command ?? null, as_node: as_node ?? null };
}

export async function getThread(ctx: Context, deployment_id: string, thread_id: string) {
  const { object } = await openThread(ctx, { deployment_id, thread_id }, "read", {});
  const thread = await object.getThread();
  if (!thread) throw threadNotFound(thread_id);
  return thread;
}

export async function updateThread(
  ctx: Context,
  ref: ThreadRef,
  { metadata, ttl }: Pick<ThreadPatch, "metadata"> & Partial<ThreadPatch>,
) {
  const { object, value } = await openThread(ctx, ref, "update", { metadata });
  const patched = await object.patchThread(metadataToStore(value), ttl ?? null);
  if (patched.ok) return patched.thread;
  if (patched.refusal === "thread_missing") throw threadNotFound(ref.thread_id);
  throw valueTooLarge("metadata");
}

export async function deleteThread(ctx: Context, deployment_id: string, thread_id: string) {
  const { object } = await openThread(ctx, { deployment_id, thread_id }, "delete", {});
  const deleted = await object.deleteThread();
  if (!deleted) throw threadNotFound(thread_id);
}

export function newThread(
  { deployment_id, workspace_id, config }: ActiveRevision,
  thread_id: string,
  metadata: Record<string, unknown>,
  ttl: Ttl | undefined = undefined,
): NewThread {
  const effective = ttl ?? defaultTtl({ config });
  return { thread_id, deployment_id, workspace_id, metadata, temporary: false, ttl: effective };
}

/**
 * Returns the metadata, which an agent's handler may have extended.
 * @throws AppError when it is larger than may be stored
 */
export function metadataToStore(value: { metadata?: unknown }): Record<string, unknown> {
  const metadata = metadataOf(value);
  if (!isKeepable(metadata)) throw valueTooLarge("metadata");
  return metadata;
}

export function valueTooLarge(what: string, whose = "thread"): AppError {
  const text = `the ${whose}'s ${what} would have more than ${MAX_KEPT_CHARACTERS} characters of JSON`;
  return invalid(["body"], text);
}

export function toRevisionRef({
  deployment_id,
  revision_id,
  secrets_version,
}: ActiveRevision): RevisionRef {
  return { deployment_id, revision_id, secrets_version };
}
