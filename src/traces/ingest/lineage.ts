import type { Context } from "../../shared/context.ts";
import { nowMicros } from "../../shared/times.ts";
import { findPartitions } from "../catalogue/catalogue.ts";
import type { IncomingRun, RunChange } from "../changes.ts";
import { parseDottedOrder, toDottedOrder } from "../dotted-order.ts";
import { tracePartition } from "../object/stub.ts";

/**
 * Completes a run of `POST /runs` that names a stored parent but has no dotted order: adds the trace of the parent, a dotted
 * order if the parent has one, and the parent's project if the run names none. Returns any other run unchanged.
 */
export async function completeLineage(ctx: Context, run: IncomingRun): Promise<IncomingRun> {
  const { parent_run_id, dotted_order } = run.columns;
  if (dotted_order !== undefined || parent_run_id === undefined) return run;
  const parent = await findParent(ctx, parent_run_id);
  if (!parent) return run;
  const start_us = run.columns.start_us ?? nowMicros();
  const { trace_id, dotted_order: above } = parent;
  return {
    ...run,
    session_id: run.session_id ?? (run.session_name === null ? parent.project_id : null),
    columns: {
      ...run.columns,
      start_us,
      trace_id,
      ...(above !== null && { dotted_order: `${above}.${toDottedOrder(start_us, run.id)}` }),
    },
  };
}

async function findParent(ctx: Context, id: string) {
  for (const { partition, ids } of await findPartitions(ctx, [id])) {
    const { runs } = await tracePartition(ctx.env, partition).getRuns(ids, [
      "id",
      "trace_id",
      "dotted_order",
    ]);
    if (runs[0]) return { ...runs[0], project_id: partition.project_id };
  }
  return null;
}

/** @returns `null` when the run names neither its trace nor its place in it, and is not the POST of a root */
export function traceOf({ id, kind, columns }: Pick<RunChange, "id" | "kind" | "columns">) {
  const { trace_id, dotted_order, parent_run_id } = columns;
  if (trace_id !== undefined) return trace_id;
  if (dotted_order !== undefined) return parseDottedOrder(dotted_order)?.trace_id ?? null;
  return kind === "post" && parent_run_id === undefined ? id : null;
}
