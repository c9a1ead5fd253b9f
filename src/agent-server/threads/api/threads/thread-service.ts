import type { Context } from "../../../../shared/context.ts";
import { AppError } from "../../../../shared/errors.ts";
import { newId } from "../../../../shared/storage/ids.ts";
import { chunks, mapConcurrent } from "../../../../shared/work/chunks.ts";
import { watchedStream } from "../../../../shared/work/watched-stream.ts";
import { authorize, openAgent } from "../../../access/service.ts";
import { extract } from "../../contract/extract.ts";
import { JsonRoom, type JsonSize } from "../../contract/json-text.ts";
import { Thread } from "../../contract/requests/schema.ts";
import type {
  ThreadCount,
  ThreadPrune,
  ThreadSearch,
} from "../../contract/requests/thread-schema.ts";
import { MAX_LIST } from "../../contract/sizes.ts";
import { threadNotFound } from "../../contract/state-answers.ts";
import type { ThreadStreamChoice } from "../../contract/thread-stream-modes.ts";
import type { StatusCounts } from "../../directory/counts.ts";
import { countByStatus, findThreads } from "../../directory/directory.ts";
import { threadWithFilters } from "../../object/stub.ts";
import type { ThreadCalls } from "../../object/thread-calls.ts";
import { pickFields } from "../fields.ts";
import { toPage } from "../page.ts";
import { metadataToStore, newThread, openThread, type ThreadRef } from "./service.ts";

const SEARCH = { resource: "threads", action: "search" } as const;

/** Interval at which a user's access to an open stream is checked. */
const CHECK_MS = 60_000;
/**
 * Maximum duration of a user's stream: Heddle does not know when a credential ends that the agent's code has accepted.
 */
const USER_SESSION_MS = 60 * 60 * 1000;
/** Maximum number of objects called at once. */
const AT_ONCE = 20;

/** Maximum size of a thread that is read in parallel with others: the whole response is in memory. */
const SHARE = {
  characters: MAX_LIST.characters / AT_ONCE,
  containers: MAX_LIST.containers / AT_ONCE,
};

/** Fields that the directory has: a search that needs only these calls no thread. */
const DIRECTORY_FIELDS = [
  "thread_id",
  "created_at",
  "updated_at",
  "state_updated_at",
  "status",
  "metadata",
];

export async function searchThreads(ctx: Context, deployment_id: string, query: ThreadSearch) {
  const agent = await openAgent(ctx, deployment_id, "read");
  const { filters } = await authorize(ctx, { ...SEARCH, value: { ...query } });
  const { select, extract, recent_runs = 0 } = query;
  const isInDirectory =
    select !== undefined &&
    select.length > 0 &&
    !extract &&
    recent_runs === 0 &&
    select.every((name) => DIRECTORY_FIELDS.includes(name));
  const with_metadata = isInDirectory && select.includes("metadata");
  const found = await findThreads(ctx, agent, { ...query, filters, with_metadata }, MAX_LIST);
  if (found === null) throw tooMuchFound();
  const { rows, headers } = toPage(found, query);
  if (isInDirectory) return { rows: rows.map((row) => pickFields(row, select)), headers };
  const call = (row: { thread_id: string }, size: JsonSize) =>
    threadWithFilters(ctx.env, agent.deployment_id, row.thread_id, filters).getThreadWithin(
      size,
      recent_runs,
    );
  return { rows: await readThreads(rows, query, call), headers };
}

type Read<R> = (row: R, size: JsonSize) => ReturnType<ThreadCalls["getThreadWithin"]>;

/**
 * Reads threads in parallel, and those that exceed `SHARE` one by one. Leaves out deleted and hidden threads.
 * @throws AppError when the response exceeds its limit
 */
async function readThreads<R>(rows: R[], query: ThreadSearch, read: Read<R>) {
  const found: ReturnType<typeof toFound>[] = [];
  const room = new JsonRoom(MAX_LIST);
  const add = (read: Awaited<ReturnType<Read<R>>>) => {
    if (isTooLarge(read)) throw tooMuchFound();
    if (!read.ok) return;
    const recent = query.recent_runs && { recent_runs: read.recent_runs };
    const shown = { ...toFound(Thread.parse(read.thread), query), ...recent };
    if (!room.take(JSON.stringify(shown))) throw tooMuchFound();
    found.push(shown);
  };
  for (const some of chunks(rows, AT_ONCE)) {
    const reads = await Promise.all(
      some.map(async (row) => ({ row, first: await read(row, SHARE) })),
    );
    for (const { row, first } of reads) add(isTooLarge(first) ? await read(row, room.left) : first);
  }
  return found;
}

function isTooLarge(read: Awaited<ReturnType<ThreadCalls["getThreadWithin"]>>): boolean {
  return !read.ok && read.refusal === "too_large";
}

export async function countThreads(ctx: Context, deployment_id: string, query: ThreadCount) {
  const agent = await openAgent(ctx, deployment_id, "read");
  const { filters } = await authorize(ctx, { ...SEARCH, value: { ...query } });
  const counts = await countByStatus(ctx, agent, { ...query, filters });
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

export async function countThreadsByStatus(
  ctx: Context,
  deployment_id: string,
  query: ThreadCount,
): Promise<StatusCounts> {
  const agent = await openAgent(ctx, deployment_id, "read");
  const { filters } = await authorize(ctx, { ...SEARCH, value: { ...query } });
  return countByStatus(ctx, agent, { ...query, filters });
}

/** Copies a thread. The copy keeps the ids of the checkpoints. */
export async function copyThread(ctx: Context, { deployment_id, thread_id }: ThreadRef) {
  const { filters } = await openThread(ctx, { deployment_id, thread_id }, "read", {});
  const copy_id = newId();
  const made = await openThread(ctx, { deployment_id, thread_id: copy_id }, "create", NEW);
  const copy = newThread(made.agent, copy_id, metadataToStore(made.value));
  const copied = await made.object.copyThread(thread_id, copy, filters);
  if (copied) return copied;
  // Users of an agent receive the status that LangGraph's own server returns.
  if (ctx.access?.user) throw new AppError("conflict", "Thread not found");
  throw threadNotFound(thread_id);
}

const NEW: { metadata: Record<string, unknown> } = { metadata: {} };

/**
 * Deletes threads, or with `keep_latest` their history. `keep_latest` skips threads with runs in flight.
 * @returns the number of threads pruned
 */
export async function pruneThreads(
  ctx: Context,
  deployment_id: string,
  { thread_ids, strategy }: ThreadPrune,
): Promise<number> {
  const action = strategy === "keep_latest" ? "update" : "delete";
  const ids = [...new Set(thread_ids)];
  const { deployment_id: id } = await openAgent(ctx, deployment_id, "write");
  // Authorizes each thread, because the agent's handler may decide by the id, and all before the first is pruned.
  const allowed = await mapConcurrent(ids, AT_ONCE, async (thread_id) => {
    const value = { thread_id, ids, metadata: {} };
    const { filters } = await authorize(ctx, { resource: "threads", action, value });
    return { thread_id, filters };
  });
  const pruned = await mapConcurrent(allowed, AT_ONCE, ({ thread_id, filters }) => {
    const object = threadWithFilters(ctx.env, id, thread_id, filters);
    return strategy === "keep_latest" ? object.pruneThread() : object.deleteThread();
  });
  return pruned.filter(Boolean).length;
}

/** Returns the stream of a thread. The stream of a user of the agent ends with the user's access, and after an hour. */
export async function followThread(
  ctx: Context,
  { deployment_id, thread_id }: ThreadRef,
  choice: ThreadStreamChoice,
) {
  const open = () => openThread(ctx, { deployment_id, thread_id }, "read", {});
  const { object } = await open();
  const stream = await object.followThread(choice);
  if (!stream) throw threadNotFound(thread_id);
  if (ctx.caller.actor.type !== "agent_user") return stream;
  const ends_at_ms = Date.now() + USER_SESSION_MS;
  return watchedStream(stream, (end) => {
    const timer = setInterval(async () => {
      const refusal = Date.now() < ends_at_ms ? await refusalOf(open, thread_id) : sessionOver();
      if (refusal !== null) end(refusal);
    }, CHECK_MS);
    return () => clearInterval(timer);
  });
}

/**
 * Authorizes a user of the agent once more: the thread may have another owner now.
 * @returns `null` when access continues, also while the check fails
 */
async function refusalOf(open: () => ReturnType<typeof openThread>, thread_id: string) {
  try {
    const { object } = await open();
    return (await object.isVisible()) ? null : threadNotFound(thread_id);
  } catch (error) {
    const refusal = AppError.from(error);
    return refusal.status < 500 ? refusal : null;
  }
}

function sessionOver(): AppError {
  return new AppError("unauthenticated", "The stream has ended after an hour: open it again.");
}

function tooMuchFound(): AppError {
  const { characters, containers } = MAX_LIST;
  const message = `The response has more than ${characters} characters, or ${containers} objects and lists: use a smaller limit, or select fields without values.`;
  return new AppError("too_large", message);
}

function toFound(thread: Thread, { select, extract: paths }: ThreadSearch) {
  if (!paths) return pickFields(thread, select);
  const extracted = Object.entries(paths).map(([name, path]) => [name, extract(thread, path)]);
  return { ...pickFields(thread, select), extracted: Object.fromEntries(extracted) };
}
