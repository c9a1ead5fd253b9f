import type { Context } from "../../../../shared/context.ts";
import { AppError } from "../../../../shared/errors.ts";
import type { Filters } from "../../../../shared/filters.ts";
import { newId } from "../../../../shared/storage/ids.ts";
import { mapConcurrent } from "../../../../shared/work/chunks.ts";
import { authorize, openAgent } from "../../../access/service.ts";
import type { CancelChoice, LateCancellation } from "../../contract/records.ts";
import { BULK_REASON, type CancelAction } from "../../contract/run-decisions.ts";
import { visitBusyThreads } from "../../directory/busy-threads.ts";
import { readDirectory } from "../../directory/stub.ts";
import { threadWithFilters } from "../../object/stub.ts";
import type { CancelRuns } from "./run-query-schema.ts";

/** Maximum authorizations that a request calls at once. */
const AT_ONCE = 10;
/** Time within which the directory usually lists the thread of an accepted run as busy. */
const DIRECTORY_LAG_MS = 1_500;

/** Cancels runs by their ids, or all of one status, of a thread or of the whole deployment. */
export async function cancelRuns(
  ctx: Context,
  deployment: string,
  { thread_id, run_ids, status }: CancelRuns,
  action: CancelAction,
): Promise<void> {
  const { deployment_id } = await openAgent(ctx, deployment, "write");
  const choice: CancelChoice = {
    run_ids: run_ids?.length ? run_ids : null,
    status: status ?? "all",
  };
  const allow = async (id: string | undefined) => {
    const value = { thread_id: id, run_ids, action, metadata: {} };
    return (await authorize(ctx, { resource: "threads", action: "update", value })).filters;
  };
  const cancelIn = (id: string, filters: Filters | null, of = choice) =>
    threadWithFilters(ctx.env, deployment_id, id, filters).cancelRuns(of, action, BULK_REASON);
  if (!thread_id && !run_ids?.length) {
    const filters = await allow(undefined);
    const all = { status: choice.status, accepted_until: Date.now(), last_id: newId() };
    const cancelAll = (ids: string[]) =>
      sum(ids.map((id) => cancelIn(id, filters, { run_ids: null, ...all })));
    return assertFound(
      await cancelBusy(ctx, deployment_id, { ...all, action, filters }, cancelAll),
    );
  }
  // The thread of a threadless run has the run's id. All threads are authorized before the first run is cancelled.
  const chosen = thread_id
    ? [{ id: thread_id, of: choice }]
    : (run_ids ?? []).map((id) => ({ id, of: { ...choice, run_ids: [id] } }));
  const allowed = await mapConcurrent(chosen, AT_ONCE, async ({ id, of }) => {
    return { id, of, filters: await allow(id) };
  });
  assertFound(await sum(allowed.map(({ id, of, filters }) => cancelIn(id, filters, of))));
}

function assertFound(found: number): void {
  if (found === 0) throw new AppError("not_found", "No run to cancel was found");
}

/**
 * Cancels runs in all busy threads. The directory may not list the newest busy threads yet. When no run was found,
 * waits for these threads. Otherwise stores the cancellation in the directory: threads that it lists later apply it.
 */
async function cancelBusy(
  ctx: Context,
  deployment_id: string,
  late: LateCancellation,
  cancel: (thread_ids: string[]) => Promise<number>,
): Promise<number> {
  const { filters } = late;
  let found = 0;
  const visit = () =>
    visitBusyThreads(ctx, { deployment_id, filters, with_temporary: true }, async (ids) => {
      found += await cancel(ids);
    });
  await visit();
  if (found === 0) await scheduler.wait(DIRECTORY_LAG_MS);
  else
    await readDirectory(ctx.env, deployment_id, (directory) =>
      directory.cancelLate(ctx.caller.workspace_id, late),
    );
  // Finds the threads that were published during the wait, or before the directory had the cancellation.
  const wereAll = await visit();
  if (wereAll) return found;
  const text = `${found} runs are cancelled: call again for the rest.`;
  throw new AppError("unavailable", text, { retry_after_seconds: 1 });
}

async function sum(counts: Promise<number>[]): Promise<number> {
  return (await Promise.all(counts)).reduce((all, count) => all + count, 0);
}
