import type { EventRow } from "../../events/event-row.ts";
import { OVERHEAD_BYTES } from "../boundary/limits.ts";
import { sizeOfEvent } from "../boundary/ops.ts";
import type { CarriedTraces } from "./carried-traces.ts";
import { insertRows } from "./insert.ts";
import { largeValues } from "./large-values.ts";
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
/** A value within the data of an event: a JSON list of segments, and the text after them. */
type SharedValue = { segments: string; tail: string };
/** Name, and data in pieces. Earlier rows have one text instead, and the JSON list of the segments before it. */
type StoredEvent = [event: string, data: string | (string | SharedValue)[], segments?: string];
/** Events whose large values have their segments. `characters`: what they add to the log. */
export type SharedEvents = { stored: StoredEvent[]; characters: number };

/** Events that repeat the state, or most of it, with each step. */
const REPEATING = new Set(["values", "checkpoints", "debug", "tasks", "events"]);

/** A reader parses a whole row, also for its last event. */
const MAX_BATCH_CHARACTERS = 128 * 1024;
const MAX_BATCH_EVENTS = 256;
/** Limit of the places and segment lists that one thread holds in memory. */
const MAX_NEWEST_CHARACTERS = 1024 * 1024;

/**
 * Rows of events. Events of one name often repeat a large value at the same place of their JSON. Such values share the
 * segments of their common beginning.
 */
export class EventBatches {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  readonly #carried: CarriedTraces;
  readonly #segments: Segments;
  /** Segments of the newest value by place: the name of an event, and the path of the value in its JSON. */
  readonly #newest = new Map<string, string>();
  #newestCharacters = 0;

  constructor(tables: ThreadTables, parts: Parts, carried: CarriedTraces) {
    this.#sql = tables.sql;
    this.#parts = parts;
    this.#carried = carried;
    this.#segments = new Segments(tables, EVENT_SEGMENTS);
  }

  clearCache() {
    this.#newest.clear();
    this.#newestCharacters = 0;
  }

  /** Stores the segments of the events' large values. The caller inserts the events next. */
  share(events: NewEvent[]): SharedEvents {
    const shared = events.map((event) => this.#share(event));
    return {
      stored: shared.map(({ stored }) => stored),
      characters: shared.reduce((sum, { characters }) => sum + characters, 0),
    };
  }

  /** Inserts events that share one time. The last row has the cargo. @returns the id of the last event */
  insert(
    run_id: string,
    first: number,
    events: StoredEvent[],
    { traces, progress }: Cargo,
  ): number {
    const last = first + events.length - 1;
    const column = this.#carried.begin(last, traces);
    let last_id = first - 1;
    const rows = toBatches(events).map((batch) => {
      // The first row has the time of all.
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

  #share({ event, data }: NewEvent): { stored: StoredEvent; characters: number } {
    const [name = ""] = event.split("|");
    const isShared = REPEATING.has(name) && data.length >= SEGMENTED_BYTES;
    const values = isShared ? largeValues(data, SEGMENTED_BYTES) : [];
    if (values.length === 0) {
      return { stored: [event, data], characters: sizeOfEvent({ event, data }) };
    }
    const pieces: (string | SharedValue)[] = [];
    let characters = OVERHEAD_BYTES + event.length;
    let at = 0;
    for (const { path, start, end } of values) {
      const { value, added } = this.#shareValue(`${event} ${path}`, data.slice(start, end));
      pieces.push(data.slice(at, start), value);
      characters += start - at + added;
      at = end;
    }
    pieces.push(data.slice(at));
    return { stored: [event, pieces], characters: characters + data.length - at };
  }

  #shareValue(place: string, text: string): { value: SharedValue; added: number } {
    const bytes = new TextEncoder().encode(text);
    const { segments, tail, added } = this.#segments.put(bytes, this.#newest.get(place) ?? null);
    this.#remember(place, segments);
    return { value: { segments, tail: new TextDecoder().decode(tail) }, added };
  }

  /** Limits the places, whose names come from agents. The next value at a forgotten place shares no segments. */
  #remember(place: string, segments: string) {
    this.#forget(place);
    this.#newest.set(place, segments);
    this.#newestCharacters += place.length + segments.length;
    for (const oldest of this.#newest.keys()) {
      if (this.#newestCharacters <= MAX_NEWEST_CHARACTERS) return;
      this.#forget(oldest);
    }
  }

  #forget(place: string) {
    const segments = this.#newest.get(place);
    if (segments === undefined) return;
    this.#newest.delete(place);
    this.#newestCharacters -= place.length + segments.length;
  }

  /** Yields the events of a row after an id. */
  *read({ last_id, run_id, count, events, at }: StoredBatch, after: number): Iterable<EventRow> {
    const first = last_id - count + 1;
    const stored: StoredEvent[] = JSON.parse(this.#parts.text(batchName(last_id), events));
    for (const [index, [event, data, segments]] of stored.entries()) {
      const id = first + index;
      if (id <= after) continue;
      const text = typeof data === "string" ? this.#join(data, segments) : this.#joinPieces(data);
      yield { id, run_id, event, data: text, at };
    }
  }

  #joinPieces(pieces: (string | SharedValue)[]): string {
    const texts = pieces.map((piece) =>
      typeof piece === "string" ? piece : this.#join(piece.tail, piece.segments),
    );
    return texts.join("");
  }

  #join(tail: string, segments: string | undefined): string {
    if (segments === undefined) return tail;
    return new TextDecoder().decode(this.#segments.bytes(segments, new TextEncoder().encode(tail)));
  }

  dropUnused() {
    this.clearCache();
    this.#segments.dropUnused();
  }

  /**
   * Deletes the events of a run. An empty row keeps `last_id`, the greatest id, if its row is deleted: ids are not
   * assigned again.
   * @returns whether a deleted row had segments
   */
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

/** Divides events into rows. An event over the limit has its own row. */
function toBatches(events: StoredEvent[]): StoredEvent[][] {
  const batches: StoredEvent[][] = [];
  let batch: StoredEvent[] = [];
  let left = 0;
  for (const event of events) {
    const characters = inlineCharacters(event);
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

function inlineCharacters([event, data]: StoredEvent): number {
  if (typeof data === "string") return event.length + data.length;
  return data.reduce(
    (sum, piece) => sum + (typeof piece === "string" ? piece : piece.tail + piece.segments).length,
    event.length,
  );
}

/**
 * Returns one JSON list of the segments of all events. `Segments.dropUnused` reads the lists.
 * @returns `null` without any
 */
function segmentsOf(batch: StoredEvent[]): string | null {
  const pieces = batch.flatMap(([, data]) => (typeof data === "string" ? [] : data));
  const lists = pieces.flatMap((piece) => (typeof piece === "string" ? [] : piece.segments));
  if (lists.length === 0) return null;
  return JSON.stringify([...new Set(lists.flatMap((list) => JSON.parse(list) as number[]))]);
}
