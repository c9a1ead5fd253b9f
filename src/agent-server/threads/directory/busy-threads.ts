import { and, asc, eq, gt } from "drizzle-orm";
import type { Context } from "../../../shared/context.ts";
import type { Filters } from "../../../shared/filters.ts";
import { fulfils } from "../containment.ts";
import { threads } from "./table.ts";

const PAGE = 50;
/** Limits the objects that a request calls. */
const MAX_PAGES = 18;

type BusyQuery = {
  deployment_id: string;
  filters?: Filters | null;
  /** Whether temporary threads are visited too. */
  with_temporary?: boolean;
};

/**
 * Visits the busy threads of a deployment page by page.
 * @returns `false` when more are busy than one request may call
 */
export async function visitBusyThreads(
  ctx: Context,
  query: BusyQuery,
  visit: (thread_ids: string[]) => Promise<void>,
): Promise<boolean> {
  let after = "";
  for (let page = 0; page < MAX_PAGES; page++) {
    const rows = await busyThreads(ctx, query, after);
    await visit(rows.map(({ thread_id }) => thread_id));
    if (rows.length < PAGE) return true;
    after = rows.at(-1)?.thread_id ?? after;
  }
  return false;
}

function busyThreads(
  { db, caller }: Context,
  { deployment_id, filters = null, with_temporary = false }: BusyQuery,
  after: string,
) {
  return db
    .select({ thread_id: threads.thread_id })
    .from(threads)
    .where(
      and(
        eq(threads.workspace_id, caller.workspace_id),
        eq(threads.deployment_id, deployment_id),
        eq(threads.status, "busy"),
        with_temporary ? undefined : eq(threads.is_temporary, false),
        fulfils(threads.metadata, filters),
        gt(threads.thread_id, after),
      ),
    )
    .orderBy(asc(threads.thread_id))
    .limit(PAGE);
}
