import { insertRows } from "./insert.ts";
import type { Parts } from "./parts.ts";
import { SEGMENTED_BYTES, Segments } from "./segments.ts";

export type EventRow = {
  id: number;
  run_id: string;
  event: string;
  data: string;
  /** Time of the write in epoch milliseconds, `null` when it is the time of the event before. */
  at: number | null;
};
type Row = Omit<EventRow, "data"> & { data: string | null; segments: string | null };
export type NewEvent = { event: string; data: string };

// Limits of one page: an isolate of 128 MB may serve many readers.
const PAGE_ROWS = 256;
const PAGE_CHARACTERS = 512 * 1024;

/** The event log of all runs. Ids grow over the whole life of the thread. */
export class Events {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  #last: number | null = null;
  #hasEvents: boolean | null = null;
  readonly #segments: Segments;
  /** Segments of the newest event of each name that repeats earlier data. */
  readonly #newest = new Map<string, string>();

  constructor(sql: SqlStorage, parts: Parts) {
    this.#sql = sql;
    this.#parts = parts;
    this.#segments = new Segments(sql, "event_segments", "events");
  }

  /** @returns the id of the first event */
  append(run_id: string, events: NewEvent[]): number {
    const first = this.lastId() + 1;
    const rows = events.map(({ event, data }, index) => {
      const id = first + index;
      const at = index === 0 ? Date.now() : null;
      return [id, run_id, event, ...this.#toColumns(id, { event, data }), at];
    });
    insertRows(this.#sql, "INSERT INTO events (id, run_id, event, data, segments, at)", rows);
    this.#last = first + rows.length - 1;
    this.#hasEvents = true;
    return first;
  }

  /** The columns `data` and `segments`. */
  #toColumns(id: number, { event, data }: NewEvent): [string | null, string | null] {
    const [name] = event.split("|");
    if (name !== "values" || data.length < SEGMENTED_BYTES) {
      return [this.#parts.put(eventName(id), data), null];
    }
    const bytes = new TextEncoder().encode(data);
    const { segments, tail } = this.#segments.put(bytes, this.#newest.get(event) ?? null);
    this.#newest.set(event, segments);
    return [new TextDecoder().decode(tail), segments];
  }

  /** Greatest id ever assigned, also when its event was deleted. */
  lastId(): number {
    this.#last ??= this.#sql
      .exec<{ seq: number }>(
        "SELECT coalesce(max(seq), 0) AS seq FROM sqlite_sequence WHERE name = 'events'",
      )
      .one().seq;
    return this.#last;
  }

  /** Skips the first read: the tables are new. */
  startEmpty() {
    this.#last = 0;
    this.#hasEvents = false;
  }

  /** Drops the cache after a failed transaction: it may hold what was not written. */
  clearCache() {
    this.#last = null;
    this.#hasEvents = null;
    this.#newest.clear();
  }

  get hasEvents(): boolean {
    this.#hasEvents ??=
      this.#sql.exec<{ found: number }>("SELECT EXISTS(SELECT 1 FROM events) AS found").one()
        .found === 1;
    return this.#hasEvents;
  }

  /** Events of a run after `after`, oldest first; empty when no more are stored. */
  page(run_id: string, after: number): EventRow[] {
    if (after >= this.lastId()) return [];
    return this.#page(after, "run_id = ?", run_id);
  }

  pageOfAll(after: number): EventRow[] {
    return after >= this.lastId() ? [] : this.#page(after, "1");
  }

  /** @returns `null` when the event was deleted */
  runOf(id: number): string | null {
    const found = this.#sql.exec<Row>("SELECT run_id FROM events WHERE id = ?", id).toArray();
    return found[0]?.run_id ?? null;
  }

  /** Id of the last event before the run of an event, or 0. Runs of a thread never interleave. */
  lastBeforeRunOf(id: number): number {
    const run_id = this.runOf(id);
    if (run_id === null) return id;
    const [last] = this.#sql
      .exec<{ id: number }>(
        "SELECT id FROM events WHERE id < ? AND run_id <> ? ORDER BY id DESC LIMIT 1",
        id,
        run_id,
      )
      .toArray();
    return last?.id ?? 0;
  }

  #page(after: number, condition: string, ...values: string[]): EventRow[] {
    const rows = this.#sql.exec<Row>(
      `SELECT id, run_id, event, data, segments, at FROM events WHERE id > ? AND ${condition}
       ORDER BY id LIMIT ${PAGE_ROWS}`,
      after,
      ...values,
    );
    const page: EventRow[] = [];
    let characters = 0;
    for (const { segments, ...row } of rows) {
      const data = this.#text({ segments, ...row });
      page.push({ ...row, data });
      characters += data.length;
      if (characters > PAGE_CHARACTERS) break;
    }
    return page;
  }

  #text({ id, data, segments }: Pick<Row, "id" | "data" | "segments">): string {
    const text = this.#parts.text(eventName(id), data);
    if (segments === null) return text;
    return new TextDecoder().decode(this.#segments.bytes(segments, new TextEncoder().encode(text)));
  }

  /** Deletes the segments that only deleted events used. */
  dropUnused() {
    this.#newest.clear();
    this.#segments.dropUnused();
  }

  /** @returns whether segments may be unused now; `dropUnused`, a full scan, deletes them */
  deleteOf(run_id: string): boolean {
    this.#sql.exec(
      "DELETE FROM parts WHERE name IN (SELECT 'event ' || id FROM events WHERE run_id = ? AND data IS NULL)",
      run_id,
    );
    const deleted = this.#sql
      .exec<{ has_segments: number }>(
        "DELETE FROM events WHERE run_id = ? RETURNING segments IS NOT NULL AS has_segments",
        run_id,
      )
      .toArray();
    this.#hasEvents = null;
    return deleted.some(({ has_segments }) => has_segments === 1);
  }
}

function eventName(id: number): string {
  return `event ${id}`;
}
