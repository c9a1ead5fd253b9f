import { MAX_IDS } from "../../shared/storage/sql.ts";
import { dayOf, timeOfId } from "../../shared/times.ts";
import { EVERY_RUN, type RunSource } from "../rows/run-source.ts";
import type { RunView } from "../rows/run-view.ts";
import type { SizedRun } from "./counts.ts";
import { type Leftovers, locationEntries, objectsEntry } from "./leftovers.ts";
import { deleteLinks } from "./span-links.ts";

export type DeletedRun = { id: string } & SizedRun;

/** Tables with data of runs. */
const TABLES = ["feedback", "span_parents", "waiting_spans", "long_spans"];

/**
 * Deletes what belongs to any run, inside the caller's transaction. The locations of the runs remain: `deleteHomes`
 * deletes them by day.
 */
export function deleteAllRuns(
  sql: SqlStorage,
  { runs, leftovers }: { runs: Pick<RunSource, "live">; leftovers: Leftovers },
): void {
  const stored: string[] = [];
  for (const { id, pointers } of runs.live(EVERY_RUN)) if (pointers !== null) stored.push(id);
  addObjects(leftovers, stored);
  leftovers.addLinks(runs.live(EVERY_RUN));
  for (const table of TABLES) sql.exec(`DELETE FROM ${table}`);
}

/**
 * Deletes what belongs to at most `MAX_IDS` runs of traces, inside the caller's transaction.
 * @returns these runs. The caller removes them, and repeats the call until it returns none
 */
export function deleteTraces(
  sql: SqlStorage,
  { day, trace_ids }: { day: string; trace_ids: string[] },
  { runs, leftovers }: { runs: Pick<RunSource, "ofTrace">; leftovers: Leftovers },
): DeletedRun[] {
  const deleted: RunView[] = [];
  for (const id of trace_ids) {
    deleted.push(...runs.ofTrace(id).slice(0, MAX_IDS - deleted.length));
    if (deleted.length === MAX_IDS) break;
  }
  if (deleted.length === 0) return [];
  const ids = deleted.map(({ id }) => id);
  const feedback = sql
    .exec<{ id: string }>(
      "DELETE FROM feedback WHERE run_id IN (SELECT value FROM json_each(?)) RETURNING id",
      JSON.stringify(ids),
    )
    .toArray();
  const traces = new Set(deleted.map(({ trace_id }) => trace_id));
  deleteLinks(sql, [...traces], JSON.stringify(ids));
  const stored = deleted.filter(({ pointers }) => pointers !== null);
  addObjects(
    leftovers,
    stored.map(({ id }) => id),
  );
  leftovers.addLinks(deleted);
  // A run whose id has the time of this day has no location.
  const located = deleted.filter(({ id }) => dayOf(timeOfId(id) ?? 0) !== day);
  const entries = new Set(located.flatMap(locationEntries));
  leftovers.add("location", [...entries, ...feedback.map(({ id }) => id)]);
  return deleted.map(({ id, parent_run_id, pointers }) => ({ id, parent_run_id, pointers }));
}

function addObjects(leftovers: Leftovers, ids: string[]): void {
  const now = Date.now();
  leftovers.add(
    "payloads",
    ids.map((id) => objectsEntry(id, now)),
  );
}
