import type { Context } from "../shared/context.ts";
import { newId } from "../shared/ids.ts";
import { countThreadRows, findThreads } from "./directory.ts";
import { extract } from "./extract.ts";
import { pick, toPage } from "./page.ts";
import { Thread } from "./schema.ts";
import { newThread, openAgent } from "./service.ts";
import { threadNotFound } from "./state-answers.ts";
import { threadObject } from "./stub.ts";
import type { ThreadCount, ThreadPrune, ThreadSearch } from "./thread-schema.ts";
import type { ThreadStreamChoice } from "./thread-stream.ts";

type ThreadRef = { deployment_id: string; thread_id: string };

/** Objects asked at once for what only they know. */
const AT_ONCE = 20;

/** What the directory can answer without asking the thread itself. */
const KNOWN = ["thread_id", "created_at", "updated_at", "state_updated_at", "status", "metadata"];

/** The page and its headers. */
export async function searchThreads(ctx: Context, deployment_id: string, query: ThreadSearch) {
  const agent = await openAgent(ctx, deployment_id, "read");
  const { rows, headers } = toPage(await findThreads(ctx, agent, query), query);
  const { select } = query;
  const isKnown = select?.length && !query.extract && select.every((name) => KNOWN.includes(name));
  if (isKnown) return { rows: rows.map((row) => pick(row, select)), headers };
  const found = await inTurns(rows, async ({ thread_id }) => {
    const thread = await threadObject(ctx.env, agent.deployment_id, thread_id).getThread();
    return thread ? [toFound(Thread.parse(thread), query)] : [];
  });
  return { rows: found.flat(), headers };
}

export async function countThreads(ctx: Context, deployment_id: string, query: ThreadCount) {
  const agent = await openAgent(ctx, deployment_id, "read");
  return countThreadRows(ctx, agent, query);
}

/** A thread with the history of another, every checkpoint under its own id. */
export async function copyThread(ctx: Context, { deployment_id, thread_id }: ThreadRef) {
  const agent = await openAgent(ctx, deployment_id, "write");
  const copy = newThread(agent, newId(), {});
  const object = threadObject(ctx.env, agent.deployment_id, copy.thread_id);
  const copied = await object.copyThread(thread_id, copy);
  if (!copied) throw threadNotFound(thread_id);
  return copied;
}

/** How many there were to prune; a thread whose past a run may still need is left alone. */
export async function pruneThreads(
  ctx: Context,
  deployment_id: string,
  { thread_ids, strategy }: ThreadPrune,
): Promise<number> {
  const agent = await openAgent(ctx, deployment_id, "write");
  const pruned = await inTurns([...new Set(thread_ids)], (thread_id) => {
    const object = threadObject(ctx.env, agent.deployment_id, thread_id);
    return strategy === "keep_latest" ? object.pruneThread() : object.deleteThread();
  });
  return pruned.filter(Boolean).length;
}

export async function followThread(
  ctx: Context,
  { deployment_id, thread_id }: ThreadRef,
  choice: ThreadStreamChoice,
) {
  const agent = await openAgent(ctx, deployment_id, "read");
  const object = threadObject(ctx.env, agent.deployment_id, thread_id);
  const stream = await object.followThread(choice);
  if (!stream) throw threadNotFound(thread_id);
  return stream;
}

function toFound(thread: Thread, { select, extract: paths }: ThreadSearch) {
  if (!paths) return pick(thread, select);
  const extracted = Object.entries(paths).map(([name, path]) => [name, extract(thread, path)]);
  return { ...pick(thread, select), extracted: Object.fromEntries(extracted) };
}

async function inTurns<T, R>(items: T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE) {
    done.push(...(await Promise.all(items.slice(from, from + AT_ONCE).map(work))));
  }
  return done;
}
