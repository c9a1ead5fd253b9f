import type { TraceRunRow } from "../rows/rows.ts";
import type { RunView } from "../rows/run-view.ts";
import { MessageRows } from "./message-size.ts";
import type { RunsQuery } from "./query.ts";
import type { RunReader } from "./run-reader.ts";

/** Last change that was read. `row` is `null` when the whole batch was read. */
export type ChangePosition = { seq: number; row: number | null };
export type ChangedRun = TraceRunRow & { row: number; changed_seq: number };
export type ChangedPage = { runs: ChangedRun[]; next: ChangePosition; has_more: boolean };

/** Maximum number of changed runs that one call tests. */
const MAX_READ = 10_000;

/**
 * Returns a page of matching runs in order of change, up to the newest sequence.
 * @param changed runs in order of change, from the sequence of the position
 */
export function findChanged(
  reader: RunReader,
  changed: Iterable<RunView>,
  query: RunsQuery,
  { after, newest }: { after: ChangePosition; newest: number },
): ChangedPage {
  const isMatch = reader.testOf(query);
  const page = new MessageRows<ChangedRun>();
  const { rows: runs } = page;
  let last: ChangePosition | null = null;
  for (const run of changesAfter(changed, after)) {
    if (run === null) return { runs, next: last ?? after, has_more: true };
    last = positionOf(run);
    if (!isMatch(run)) continue;
    const end = runs.at(-1);
    const isFull = page.isFull || runs.length === query.limit;
    if (end && isFull) return { runs, next: positionOf(end), has_more: true };
    page.add({ ...reader.toRow(run, query.columns), ...rowOf(run) });
  }
  return { runs, next: { seq: newest, row: null }, has_more: false };
}

/** Yields the runs behind a position, and `null` in place of each run beyond those that one call reads. */
function* changesAfter(
  changed: Iterable<RunView>,
  after: ChangePosition,
): Generator<RunView | null> {
  let read = 0;
  for (const run of changed) {
    if (!isAfter(run, after)) continue;
    yield read === MAX_READ ? null : run;
    read += 1;
  }
}

function rowOf({ row, changed_seq }: RunView) {
  return { row, changed_seq };
}

export function positionOf({ changed_seq, row }: Pick<ChangedRun, "changed_seq" | "row">) {
  return { seq: changed_seq, row };
}

function isAfter({ changed_seq, row }: RunView, after: ChangePosition): boolean {
  if (changed_seq !== after.seq) return changed_seq > after.seq;
  return after.row !== null && row > after.row;
}
