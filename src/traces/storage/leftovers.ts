import { dayOf, timeOfId } from "../../shared/times.ts";

/** Run with objects in R2 (`payloads`), or run or feedback with a catalogue row (`location`). */
export type LeftoverKind = "payloads" | "location";

/** Objects and catalogue rows of deleted runs. An entry stays until they are deleted. */
export class Leftovers {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  add(kind: LeftoverKind, ids: string[]): void {
    this.#sql.exec(
      "INSERT OR IGNORE INTO leftovers (kind, id) SELECT ?, value FROM json_each(?)",
      kind,
      JSON.stringify(ids),
    );
  }

  /** Drops entries of runs that were created again. */
  list(kind: LeftoverKind, limit: number): string[] {
    this.#sql.exec("DELETE FROM leftovers WHERE id IN (SELECT id FROM runs)");
    return this.#sql
      .exec<{ id: string }>("SELECT id FROM leftovers WHERE kind = ? LIMIT ?", kind, limit)
      .toArray()
      .map(({ id }) => id);
  }

  remove(kind: LeftoverKind, ids: string[]): void {
    this.#sql.exec(
      "DELETE FROM leftovers WHERE kind = ? AND id IN (SELECT value FROM json_each(?))",
      kind,
      JSON.stringify(ids),
    );
  }
}

/** Maximum number of runs deleted in a transaction. */
const MAX_RUNS = 10_000;

type DeletableRun = { row: number; id: string; has_payloads: number };

/** Deletes inside the caller's transaction. Returns the number of deleted runs. */
export function deleteTraces(
  sql: SqlStorage,
  { day, trace_ids }: { day: string; trace_ids: string[] },
  leftovers: Leftovers,
): number {
  const runs = sql
    .exec<DeletableRun>(
      `SELECT row, id, pointers IS NOT NULL AS has_payloads FROM runs
       WHERE trace_id IN (SELECT value FROM json_each(?)) LIMIT ${MAX_RUNS}`,
      JSON.stringify(trace_ids),
    )
    .toArray();
  if (runs.length === 0) return 0;
  const rows = JSON.stringify(runs.map(({ row }) => row));
  const ids = runs.map(({ id }) => id);
  const feedback = sql
    .exec<{ id: string }>(
      "DELETE FROM feedback WHERE run_id IN (SELECT value FROM json_each(?)) RETURNING id",
      JSON.stringify(ids),
    )
    .toArray();
  for (const table of ["run_digests", "runs"]) {
    sql.exec(`DELETE FROM ${table} WHERE row IN (SELECT value FROM json_each(?))`, rows);
  }
  leftovers.add(
    "payloads",
    runs.filter(({ has_payloads }) => has_payloads === 1).map(({ id }) => id),
  );
  const located = ids.filter((id) => dayOf(timeOfId(id) ?? 0) !== day);
  leftovers.add("location", [...located, ...feedback.map(({ id }) => id)]);
  return runs.length;
}
