import type { RunChange } from "../changes.ts";
import { charsOf } from "../segments/codec/encode.ts";
import type { RunSet } from "../segments/run-set.ts";
import type { ChangeBatch } from "./change-batch.ts";
import type { FeedbackTable } from "./feedback.ts";

/** Limit of the characters of the runs that one transaction rewrites. The last run may exceed it. */
const MAX_CHARS = 4 * 1024 * 1024;

/**
 * Returns the ids of changed runs that make their traces long-lived, or belong to a long-lived trace, in a project
 * whose runs are short-lived by default. Some runs of these traces may still be short-lived.
 */
export function runsOfMixedTraces(
  changes: RunChange[],
  runs: RunSet,
  feedback: FeedbackTable,
): string[] {
  const ids = changes.flatMap(({ id, project_tier }) => (project_tier === "shortlived" ? id : []));
  const rated = ids.length === 0 ? new Set() : feedback.extendedAmong(ids);
  return ids.filter((id) => {
    const run = runs.byId(id);
    if (run === null) return false;
    const root = run.trace_id === id ? run : runs.byId(run.trace_id);
    return rated.has(id) || run.trace_tier === "longlived" || root?.trace_tier === "longlived";
  });
}

/** Returns the ids of the short-lived runs in the traces of the given runs. */
export function shortLivedRuns(runs: RunSet, run_ids: string[]): string[] {
  const traces = new Set(run_ids.flatMap((id) => runs.byId(id)?.trace_id ?? []));
  return [...traces].flatMap((trace_id) =>
    runs.ofTrace(trace_id).flatMap(({ id, trace_tier }) => (trace_tier === "shortlived" ? id : [])),
  );
}

/** Makes runs long-lived from the end of the list, as many as fit a transaction, and removes them from the list. */
export function extendNext(batch: ChangeBatch, ids: string[]): void {
  for (let chars = 0; chars < MAX_CHARS; ) {
    const id = ids.pop();
    if (id === undefined) return;
    const run = batch.find(id);
    if (run === null) continue;
    batch.put({ ...run, trace_tier: "longlived", changed_seq: batch.seq });
    chars += charsOf(run);
  }
}
