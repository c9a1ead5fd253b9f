import { MAX_IDS } from "../../shared/storage/sql.ts";
import { chunks } from "../../shared/work/chunks.ts";
import type { RunChange } from "../changes.ts";
import { sharedId } from "../locations/location.ts";
import type { RunSet } from "../segments/run-set.ts";

/**
 * Kinds of entries:
 * - `payloads`: objects of a run in R2.
 * - `location`: location of a run or of feedback.
 * - `relocate`: run that arrived while its location may have been deleted. The location must be written again.
 * - `sealed`: file in R2 whose runs have changed, or the copy of a segment's body that has changed.
 * - `links`: runs and traces that links may name.
 */
export type LeftoverKind = "payloads" | "location" | "relocate" | "sealed" | "links";

/** Longer than the time between the save of a run's location and the save of the run. */
const ARRIVAL_MS = 60_000;

/** Number of runs whose ids are in one entry: an entry for each run would cost more than the run. */
const LINKED_RUNS = 1000;

/** Ids in an entry of kind `links`. */
export type LinkedIds = { run_ids: string[]; trace_ids: string[] };

/** Returns the entries of a deleted run: for its own location, and for a span also for the location of its trace. */
export function locationEntries({ id, trace_id }: { id: string; trace_id: string }): string[] {
  const shared = sharedId(id);
  return shared === null ? [id] : [id, `${shared}/${trace_id}`];
}

/** Returns the entry of the location that an arriving run has: spans have that of their trace. */
function entryOf({ id, span_ids, columns: { trace_id = id } }: RunChange): string {
  const [own = id, shared = own] = locationEntries({ id, trace_id });
  return span_ids === undefined ? own : shared;
}

/** Returns the entry of a run's objects at its deletion. The time spares the objects of a run that is created again. */
export function objectsEntry(id: string, deleted_ms: number): string {
  return `${id}/${deleted_ms}`;
}

/** Parses an entry. An entry of an earlier release has no time, and means all objects of the run. */
export function parseObjectsEntry(entry: string): { id: string; deleted_ms: number } {
  const [id = entry, deleted_ms = Number.POSITIVE_INFINITY] = entry.split("/");
  return { id, deleted_ms: Number(deleted_ms) };
}

/** Returns the id whose location an entry names. */
export function locatedId(entry: string): string {
  return entry.split("/")[0] ?? entry;
}

type Runs = Pick<RunSet, "storedIds" | "ofTrace">;

/** Work outside of the object that changes have left. An entry stays until its work is done. */
export class Leftovers {
  readonly #sql: SqlStorage;
  readonly #runs: Runs;
  /** Entries whose locations the alarm deletes or has just deleted, with the time at which it began. */
  readonly #unlocated = new Map<string, number>();

  constructor(sql: SqlStorage, runs: Runs) {
    this.#sql = sql;
    this.#runs = runs;
  }

  add(kind: LeftoverKind, ids: string[]): void {
    for (const some of chunks(ids, MAX_IDS)) {
      this.#sql.exec(
        "INSERT OR IGNORE INTO leftovers (kind, id) SELECT ?, value FROM json_each(?)",
        kind,
        JSON.stringify(some),
      );
    }
  }

  addLinks(runs: Iterable<{ id: string; trace_id: string }>): void {
    let [run_ids, trace_ids] = [new Set<string>(), new Set<string>()];
    const write = () => {
      if (run_ids.size === 0) return;
      const ids: LinkedIds = { run_ids: [...run_ids], trace_ids: [...trace_ids] };
      this.add("links", [JSON.stringify(ids)]);
      [run_ids, trace_ids] = [new Set(), new Set()];
    };
    for (const { id, trace_id } of runs) {
      run_ids.add(id);
      trace_ids.add(trace_id);
      if (run_ids.size === LINKED_RUNS) write();
    }
    write();
  }

  /** Records locations that the caller is about to delete. */
  beginUnlocating(entries: string[]): void {
    const now = Date.now();
    for (const [entry, at] of this.#unlocated) {
      if (now - at > ARRIVAL_MS) this.#unlocated.delete(entry);
    }
    for (const entry of entries) this.#unlocated.set(entry, now);
  }

  /** Records the arriving runs whose location may be deleted, because it was that of a deleted run. */
  addArrivals(changes: RunChange[]): void {
    if (this.#unlocated.size > 0) this.#addArrived(changes.map(entryOf));
  }

  /** Records arriving feedback like runs. */
  addFeedback(ids: string[]): void {
    this.#addArrived(ids);
  }

  #addArrived(entries: string[]): void {
    const unlocated = entries.filter((entry) => this.#unlocated.has(entry));
    if (unlocated.length > 0) this.add("relocate", unlocated);
  }

  get isEmpty(): boolean {
    return this.#sql.exec("SELECT 1 FROM leftovers LIMIT 1").toArray().length === 0;
  }

  /**
   * Lists entries. Removes obsolete ones before: `location` of what was created again, and `relocate` of
   * those that were deleted again.
   */
  list(kind: LeftoverKind, limit: number): string[] {
    for (;;) {
      const ids = this.#sql
        .exec<{ id: string }>("SELECT id FROM leftovers WHERE kind = ? LIMIT ?", kind, limit)
        .toArray()
        .map(({ id }) => id);
      if (kind !== "location" && kind !== "relocate") return ids;
      const obsolete = ids.filter((id) =>
        kind === "relocate" ? !this.#isStored(id) : this.#isStored(id),
      );
      if (obsolete.length === 0) return ids;
      this.remove(kind, obsolete);
    }
  }

  #isStored(entry: string): boolean {
    const [id = "", trace_id] = entry.split("/");
    if (trace_id === undefined)
      return this.#runs.storedIds([id]).length > 0 || this.#hasFeedback(id);
    return this.#runs.ofTrace(trace_id).some((run) => sharedId(run.id) === id);
  }

  #hasFeedback(id: string): boolean {
    return this.#sql.exec("SELECT 1 FROM feedback WHERE id = ?", id).toArray().length > 0;
  }

  remove(kind: LeftoverKind, ids: string[]): void {
    this.#sql.exec(
      "DELETE FROM leftovers WHERE kind = ? AND id IN (SELECT value FROM json_each(?))",
      kind,
      JSON.stringify(ids),
    );
  }
}
