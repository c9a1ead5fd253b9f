import { insertRows } from "./insert.ts";
import type { Parts } from "./parts.ts";
import { SEGMENTED_BYTES, Segments } from "./segments.ts";

export type EventRow = {
  id: number;
  run_id: string;
  event: string;
  data: string;
  /** When it was written, in epoch milliseconds; null: with the one before. */
  at: number | null;
};
type Row = Omit<EventRow, "data"> & { data: string | null; segments: string | null };
export type NewEvent = { event: string; data: string };

// Of a reader's next chunk: an isolate of 128 MB may serve many readers.
const PAGE_ROWS = 256;
const PAGE_CHARACTERS = 512 * 1024;

/** The log of what runs said. Ids only grow, over the whole life of the thread. */
export class Events {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  #last: number | null = null;
  #areKept: boolean | null = null;
  readonly #segments: Segments;
  /** Of each kind of event that repeats what was told before: the segments of the newest one. */
  readonly #newest = new Map<string, string>();

  constructor(sql: SqlStorage, parts: Parts) {
    this.#sql = sql;
    this.#parts = parts;
    this.#segments = new Segments(sql, "event_segments", "events");
  }

  /** Says where they begin. */
  append(run_id: string, events: NewEvent[]): number {
    const first = this.lastId() + 1;
    const rows = events.map(({ event, data }, index) => {
      const id = first + index;
      const at = index === 0 ? Date.now() : null;
      return [id, run_id, event, ...this.#keep(id, { event, data }), at];
    });
    insertRows(this.#sql, "INSERT INTO events (id, run_id, event, data, segments, at)", rows);
    this.#last = first + rows.length - 1;
    this.#areKept = true;
    return first;
  }

  /** The columns `data` and `segments`. */
  #keep(id: number, { event, data }: NewEvent): [string | null, string | null] {
    const [name] = event.split("|");
    if (name !== "values" || data.length < SEGMENTED_BYTES) {
      return [this.#parts.put(eventName(id), data), null];
    }
    const bytes = new TextEncoder().encode(data);
    const { segments, tail } = this.#segments.put(bytes, this.#newest.get(event) ?? null);
    this.#newest.set(event, segments);
    return [new TextDecoder().decode(tail), segments];
  }

  /** The greatest id that was ever given, also to events that are dropped by now. */
  lastId(): number {
    this.#last ??= this.#sql
      .exec<{ seq: number }>(
        "SELECT coalesce(max(seq), 0) AS seq FROM sqlite_sequence WHERE name = 'events'",
      )
      .one().seq;
    return this.#last;
  }

  /** The tables are new: there is nothing to read. */
  startEmpty() {
    this.#last = 0;
    this.#areKept = false;
  }

  /** What is remembered may not have been written: read it again. */
  forget() {
    this.#last = null;
    this.#areKept = null;
    this.#newest.clear();
  }

  /** Whether there is anything that will have to expire. */
  get areKept(): boolean {
    this.#areKept ??=
      this.#sql.exec<{ kept: number }>("SELECT EXISTS(SELECT 1 FROM events) AS kept").one().kept ===
      1;
    return this.#areKept;
  }

  /** The next events of a run after `after`, oldest first; none means there are no more by now. */
  page(run_id: string, after: number): EventRow[] {
    if (after >= this.lastId()) return [];
    return this.#page(after, "run_id = ?", run_id);
  }

  /** The next events of all runs. */
  pageOfAll(after: number): EventRow[] {
    return after >= this.lastId() ? [] : this.#page(after, "1");
  }

  /** Whose event that was; null when it is dropped by now. */
  runOf(id: number): string | null {
    const found = this.#sql.exec<Row>("SELECT run_id FROM events WHERE id = ?", id).toArray();
    return found[0]?.run_id ?? null;
  }

  /** The last event before the run that an event is of; 0 where there is none. Runs stand one after the other. */
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

  /** What the deleted ones had for themselves. */
  dropUnused() {
    this.#newest.clear();
    this.#segments.dropUnused();
  }

  /** True: there may be segments by now that nothing uses; `dropUnused` looks through all that is kept. */
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
    this.#areKept = null;
    return deleted.some(({ has_segments }) => has_segments === 1);
  }
}

function eventName(id: number): string {
  return `event ${id}`;
}
