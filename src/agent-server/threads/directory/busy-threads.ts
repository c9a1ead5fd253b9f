import type { Context } from "../../../shared/context.ts";
import type { Filters } from "../../../shared/filters.ts";
import { flushEntries } from "./publication.ts";
import { visitDirectory } from "./stub.ts";

const PAGE = 50;
/** Threads after which no further page is read. Callers call the object of each thread, which is a subrequest. */
const MAX_THREADS = 18 * PAGE;

type BusyQuery = {
  deployment_id: string;
  filters?: Filters | null;
  /** Whether temporary threads are visited too. */
  with_temporary?: boolean;
};

/**
 * Visits the busy threads of a deployment page by page.
 * @returns `false` when it stopped at the maximum, so more threads may be busy
 */
export async function visitBusyThreads(
  ctx: Context,
  query: BusyQuery,
  visit: (thread_ids: string[]) => Promise<void>,
): Promise<boolean> {
  await flushEntries(ctx.env);
  const { deployment_id, ...filter } = query;
  const { workspace_id } = ctx.caller;
  let wereAll = false;
  let left = MAX_THREADS;
  await visitDirectory(ctx.env, deployment_id, async (directory) => {
    let [after, generation, isLast] = [0, 0, false];
    while (!isLast && left > 0) {
      const page = await directory.find(workspace_id, {
        ...{ ...filter, status: "busy", after },
        ...{ sort_order: "asc", limit: PAGE },
      });
      await visit(page.rows.map(({ thread_id }) => thread_id));
      generation = page.generation;
      left -= page.rows.length;
      isLast = page.rows.length < PAGE;
      after = page.rows.at(-1)?.id ?? after;
    }
    wereAll = isLast;
    return { generation, isEnough: !isLast };
  });
  return wereAll;
}
