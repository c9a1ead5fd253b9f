import { Buffer } from "node:buffer";
import type { ThreadTables } from "./lazy-tables.ts";
import { PART_BYTES } from "./parts.ts";

/** Minimum size of a text with segments: that of a SQLite page. Shorter texts stay in their owner's row. */
export const SEGMENTED_BYTES = 4096;
/** Segments are merged beyond this number, as each read joins all of them. A text of long segments may have more. */
const MAX_SEGMENTS = 32;
/** Closing brackets of the JSON text, which move when a list grows. */
const MAX_TAIL_BYTES = 16;
const CLOSING = new Set([0x5d, 0x7d]);

type Segment = { id: number; data: Uint8Array };
type SharedSegment = { id: number; size: number };
/** Columns of the owner's row: a JSON list of segment ids, and the bytes after the segments. */
export type SegmentRefs = { segments: string; tail: Uint8Array };
/** `added`: bytes that the text does not share. */
type StoredText = SegmentRefs & { added: number };
/** `owner`: table whose column `segments` refers to the segments. `group`: the lazy tables that include `table`. */
type SegmentTables = {
  group: "channel_values" | "event_segments";
  table: "value_segments" | "event_segments";
  owner: "channel_values" | "events";
};

/** Segments of the values of channels. */
export const VALUE_SEGMENTS = {
  group: "channel_values",
  table: "value_segments",
  owner: "channel_values",
} as const;

/** Segments of the data of events. */
export const EVENT_SEGMENTS = {
  group: "event_segments",
  table: "event_segments",
  owner: "events",
} as const;

/**
 * Stores successive versions of a growing text, such as the messages of a thread after each step. Versions
 * share the segments of their common beginning, so that each costs only its new bytes.
 */
export class Segments {
  readonly #sql: SqlStorage;
  readonly #tables: ThreadTables;
  readonly #names: SegmentTables;

  constructor(tables: ThreadTables, names: SegmentTables) {
    this.#sql = tables.sql;
    this.#tables = tables;
    this.#names = names;
  }

  /** Stores a text. `base`: segments of an earlier text that may have the same beginning. */
  put(data: Uint8Array, base: string | null): StoredText {
    const end = data.byteLength - tailBytes(data);
    const body = data.subarray(0, end);
    const kept = base === null ? [] : this.#shared(body, base);
    const sizes = kept.map(({ size }) => size);
    const at = sizes.reduce((sum, size) => sum + size, 0);
    if (at < end) sizes.push(end - at);
    const mergeable = sizes.length > MAX_SEGMENTS ? firstToMerge(sizes) : null;
    const first = mergeable ?? kept.length;
    const from = sizes.slice(0, first).reduce((sum, size) => sum + size, 0);
    const ids = kept.slice(0, first).map(({ id }) => id);
    for (let start = from; start < end; start += PART_BYTES) {
      ids.push(this.#insert(body.subarray(start, start + PART_BYTES)));
    }
    return { segments: JSON.stringify(ids), tail: data.slice(end), added: data.byteLength - at };
  }

  bytes(segments: string, tail: Uint8Array): Uint8Array {
    const size = this.#sizeOf(segments);
    const whole = new Uint8Array(size + tail.byteLength);
    let at = 0;
    for (const { data } of this.#rows(segments)) {
      whole.set(data, at);
      at += data.byteLength;
    }
    whole.set(tail, at);
    return whole;
  }

  /** Deletes segments that no row of the owner refers to. */
  dropUnused() {
    const { group, table, owner } = this.#names;
    if (!this.#tables.has(group)) return;
    this.#sql.exec(
      `DELETE FROM ${table} WHERE id NOT IN (
         SELECT used.value FROM ${owner}, json_each(${owner}.segments) AS used
         WHERE ${owner}.segments IS NOT NULL)`,
    );
  }

  /** Returns the segments of `base` that `body` begins with. */
  #shared(body: Uint8Array, base: string): SharedSegment[] {
    const shared: SharedSegment[] = [];
    let at = 0;
    for (const { id, data } of this.#rows(base)) {
      const end = at + data.byteLength;
      if (!Buffer.from(data.buffer).equals(body.subarray(at, end))) break;
      shared.push({ id, size: data.byteLength });
      at = end;
    }
    return shared;
  }

  #sizeOf(segments: string): number {
    return this.#sql
      .exec<{ size: number }>(
        `SELECT coalesce(sum(length(data)), 0) AS size
         FROM json_each(?) AS wanted JOIN ${this.#names.table} AS kept ON kept.id = wanted.value`,
        segments,
      )
      .one().size;
  }

  /** Yields one segment at a time: together they are as large as the text. */
  *#rows(segments: string): Iterable<Segment> {
    const rows = this.#sql.exec<{ id: number; data: ArrayBuffer }>(
      `SELECT kept.id, kept.data FROM json_each(?) AS wanted
       JOIN ${this.#names.table} AS kept ON kept.id = wanted.value ORDER BY wanted.key`,
      segments,
    );
    for (const { id, data } of rows) yield { id, data: new Uint8Array(data) };
  }

  #insert(data: Uint8Array): number {
    this.#tables.create(this.#names.group);
    const statement = `INSERT INTO ${this.#names.table} (data) VALUES (?) RETURNING id`;
    return this.#sql.exec<{ id: number }>(statement, data).one().id;
  }
}

function tailBytes(data: Uint8Array): number {
  let count = 0;
  while (count < MAX_TAIL_BYTES && CLOSING.has(data.at(-1 - count) ?? 0)) count++;
  return count;
}

/**
 * Returns the index of the first segment to merge with all later ones; `sizes` begin with the oldest. That segment is
 * at most a third of what is merged, so that each of its bytes is rewritten only a few times.
 * @returns `null` when each segment is too long for a merge with the later ones
 */
function firstToMerge(sizes: number[]): number | null {
  let after = sizes.reduce((sum, size) => sum + size, 0);
  const index = sizes.findIndex((size) => {
    after -= size;
    return size < PART_BYTES / 2 && size * 2 <= after;
  });
  return index === -1 ? null : index;
}
