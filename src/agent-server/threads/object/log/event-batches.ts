import type { EventRow } from "../../events/event-row.ts";
import type { CarriedTraces } from "./carried-traces.ts";
import { insertRows } from "./insert.ts";
import type { ThreadTables } from "./lazy-tables.ts";
import type { Parts } from "./parts.ts";
import { EVENT_SEGMENTS, SEGMENTED_BYTES, Segments } from "./segments.ts";

export type NewEvent = { event: string; data: string };

/** `events`: JSON of a list of StoredEvent, `null` when it is stored in parts. */
export type StoredBatch = {
  last_id: number;
  run_id: string;
  count: number;
  events: string | null;
  at: number | null;
};
/** Columns beside the events: trace operations, and the progress of the run after the batch. */
export type Cargo = { traces: string[]; progress: string | null };
/** Name, data, and the JSON list of the segments before the data. */
type StoredEvent = [event: string, data: string, segments?: string];

/** A reader parses a whole row, also for its last event. */
const MAX_BATCH_CHARACTERS = 128 * 1024;
const MAX_BATCH_EVENTS = 256;

/** Rows of events. Successive `values` events of one name share the segments of their common beginning. */
export class EventBatches {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  readonly #carried: CarriedTraces;
  readonly #segments: Segments;
  /** Segments of the newest event of each name that repeats earlier data. */
  readonly #newest = new Map<string, string>();

  constructor(tables: ThreadTables, parts: Parts, carried: CarriedTraces) {
    this.#sql = tables.sql;
    this.#parts = parts;
    this.#carried = carried;
    this.#segments = new Segments(tables, EVENT_SEGMENTS);
  }

  clearCache() {
    this.#newest.clear();
  }

  /** Inserts events of one moment. The last row has the cargo. @returns the id of the last event */
  insert(run_id: string, first: number, events: NewEvent[], { traces, progress }: Cargo): number {
    const last = first + events.length - 1;
    const column = this.#carried.begin(last, traces);
    let last_id = first - 1;
    const rows = toBatches(events.map((event) => this.#toStored(event))).map((batch) => {
      const at = last_id < first ? Date.now() : null;
      last_id += batch.length;
      const text = this.#parts.put(batchName(last_id), JSON.stringify(batch));
      const cargo = last_id === last ? [column, progress] : [null, null];
      return [last_id, run_id, batch.length, text, segmentsOf(batch), at, ...cargo];
    });
    insertRows(
      this.#sql,
      "INSERT INTO events (last_id, run_id, count, events, segments, at, traces, progress)",
      rows,
    );
    return last;
  }

  #toStored({ event, data }: NewEvent): StoredEvent {
    const [name] = event.split("|");
    if (name !== "values" || data.length < SEGMENTED_BYTES) return [event, data];
    const bytes = new TextEncoder().encode(data);
    const { segments, tail } = this.#segments.put(bytes, this.#newest.get(event) ?? null);
    this.#newest.set(event, segments);
    return [event, new TextDecoder().decode(tail), segments];
  }

  /** Yields the events of a row after an id. */
  *read({ last_id, run_id, count, events, at }: StoredBatch, after: number): Iterable<EventRow> {
    const first = last_id - count + 1;
    const stored: StoredEvent[] = JSON.parse(this.#parts.text(batchName(last_id), events));
    for (const [index, [event, data, segments]] of stored.entries()) {
      const id = first + index;
      if (id <= after) continue;
      const text = segments === undefined ? data : this.#join(segments, data);
      yield { id, run_id, event, data: text, at };
    }
  }

  #join(segments: string, tail: string): string {
    return new TextDecoder().decode(this.#segments.bytes(segments, new TextEncoder().encode(tail)));
  }

  dropUnused() {
    this.#newest.clear();
    this.#segments.dropUnused();
  }

  /** Keeps an empty row with the greatest id, so that ids are not assigned again. @returns whether it had segments */
  deleteOf(run_id: string, last_id: number): boolean {
    const deleted = this.#sql
      .exec<Pick<StoredBatch, "last_id"> & { is_large: number; has_segments: number }>(
        `DELETE FROM events WHERE run_id = ?
         RETURNING last_id, events IS NULL AS is_large, segments IS NOT NULL AS has_segments`,
        run_id,
      )
      .toArray();
    for (const row of deleted) if (row.is_large) this.#parts.delete(batchName(row.last_id));
    if (deleted.some((row) => row.last_id === last_id)) {
      this.#sql.exec("DELETE FROM events WHERE count = 0");
      this.#sql.exec(
        "INSERT INTO events (last_id, run_id, count, events) VALUES (?, '', 0, '[]')",
        last_id,
      );
    }
    return deleted.some(({ has_segments }) => has_segments === 1);
  }
}

function batchName(last_id: number): string {
  return `event ${last_id}`;
}

/** Divides events into rows. A long event has its own. */
function toBatches(events: StoredEvent[]): StoredEvent[][] {
  const batches: StoredEvent[][] = [];
  let batch: StoredEvent[] = [];
  let left = 0;
  for (const event of events) {
    const characters = event[0].length + event[1].length;
    if (characters > left || batch.length === MAX_BATCH_EVENTS) {
      batch = [];
      batches.push(batch);
      left = MAX_BATCH_CHARACTERS;
    }
    left -= characters;
    batch.push(event);
  }
  return batches;
}

/** Returns one JSON list of the segments of all events, from which `Segments.dropUnused` reads what is in use. */
function segmentsOf(batch: StoredEvent[]): string | null {
  const lists = batch.flatMap(([, , segments]) => segments ?? []);
  if (lists.length === 0) return null;
  return JSON.stringify([...new Set(lists.flatMap((list) => JSON.parse(list) as number[]))]);
}
