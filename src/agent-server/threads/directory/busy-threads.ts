import { and, asc, eq, gt } from "drizzle-orm";
import { unionAll } from "drizzle-orm/sqlite-core";
import type { Context } from "../../../shared/context.ts";
import type { Filters } from "../../../shared/filters.ts";
import { fulfils } from "../containment.ts";
import { temporary_threads, threads } from "./table.ts";

const PAGE = 50;
/** A request may call so many objects. */
const MAX_PAGES = 18;

type Place = { deployment_id: string; filters?: Filters | null };

/**
 * Visits the threads of a deployment that are busy in the directory, page after page. False: there
 * are more than one request may ask.
 */
export function visitBusyThreads(
  ctx: Context,
  place: Place,
  visit: (thread_ids: string[]) => Promise<void>,
): Promise<boolean> {
  const page = (after: string) =>
    busyThreads(ctx, place, after).orderBy(asc(threads.thread_id)).limit(PAGE);
  return visitPages(page, visit);
}

/** The same, with the temporary threads that are listed. */
export function visitAllBusyThreads(
  ctx: Context,
  place: Place,
  visit: (thread_ids: string[]) => Promise<void>,
): Promise<boolean> {
  const both = (after: string) =>
    unionAll(busyThreads(ctx, place, after), listedThreads(ctx, place, after))
      .orderBy(asc(threads.thread_id))
      .limit(PAGE);
  return visitPages(both, visit);
}

type Page = (after: string) => PromiseLike<{ thread_id: string }[]>;

async function visitPages(
  readPage: Page,
  visit: (thread_ids: string[]) => Promise<void>,
): Promise<boolean> {
  let after = "";
  for (let page = 0; page < MAX_PAGES; page++) {
    const rows = await readPage(after);
    await visit(rows.map(({ thread_id }) => thread_id));
    if (rows.length < PAGE) return true;
    after = rows.at(-1)?.thread_id ?? after;
  }
  return false;
}

function busyThreads(ctx: Context, place: Place, after: string) {
  return ctx.db
    .select({ thread_id: threads.thread_id })
    .from(threads)
    .where(and(isThere(threads, ctx, place, after), eq(threads.status, "busy")));
}

function listedThreads(ctx: Context, place: Place, after: string) {
  return ctx.db
    .select({ thread_id: temporary_threads.thread_id })
    .from(temporary_threads)
    .where(isThere(temporary_threads, ctx, place, after));
}

function isThere(
  table: typeof threads | typeof temporary_threads,
  { caller }: Context,
  { deployment_id, filters = null }: Place,
  after: string,
) {
  return and(
    eq(table.workspace_id, caller.workspace_id),
    eq(table.deployment_id, deployment_id),
    fulfils(table.metadata, filters),
    gt(table.thread_id, after),
  );
}
