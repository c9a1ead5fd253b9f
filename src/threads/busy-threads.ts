import { and, asc, eq, gt } from "drizzle-orm";
import type { Context } from "../shared/context.ts";
import type { Filters } from "../shared/filters.ts";
import { fulfils } from "./containment.ts";
import { threads } from "./table.ts";

const PAGE = 50;
/** A request may call so many objects. */
const MAX_PAGES = 18;

/**
 * Visits the threads of a deployment that are busy in the directory, page after page. False: there
 * are more than one request may ask.
 */
export async function visitBusyThreads(
  { db, caller }: Context,
  { deployment_id, filters = null }: { deployment_id: string; filters?: Filters | null },
  visit: (thread_ids: string[]) => Promise<void>,
): Promise<boolean> {
  let after = "";
  for (let page = 0; page < MAX_PAGES; page++) {
    const rows = await db
      .select({ thread_id: threads.thread_id })
      .from(threads)
      .where(
        and(
          eq(threads.workspace_id, caller.workspace_id),
          eq(threads.deployment_id, deployment_id),
          eq(threads.status, "busy"),
          fulfils(threads.metadata, filters),
          gt(threads.thread_id, after),
        ),
      )
      .orderBy(asc(threads.thread_id))
      .limit(PAGE);
    await visit(rows.map(({ thread_id }) => thread_id));
    if (rows.length < PAGE) return true;
    after = rows.at(-1)?.thread_id ?? after;
  }
  return false;
}
