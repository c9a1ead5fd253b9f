import { Buffer } from "node:buffer";
import { PART_BYTES } from "./parts.ts";

/** What is shorter stands in its owner's row: a page of SQLite. */
export const SEGMENTED_BYTES = 4096;
/** Beyond so many the newest become one: each read joins all of them. */
const MAX_SEGMENTS = 32;
/** Brackets that JSON ends with: the only thing that changes where a list grows. */
const MAX_TAIL_BYTES = 16;
const CLOSING = new Set([0x5d, 0x7d]);

type Segment = { id: number; data: Uint8Array };
/** What the owner's row keeps: the segments as a JSON list of their ids, and the bytes behind them. */
export type Segmented = { segments: string; tail: Uint8Array };

/**
 * Texts of which the next is the one before and a little more, such as the messages of a thread after each
 * step. Versions share the segments in which they begin alike, so that one costs what is new in it.
 */
export class Segments {
  readonly #sql: SqlStorage;
  readonly #table: string;
  readonly #owner: string;

  /** `owner` is the table whose column `segments` says which are in use. */
  constructor(sql: SqlStorage, table: "value_segments" | "event_segments", owner: string) {
    this.#sql = sql;
    this.#table = table;
    this.#owner = owner;
  }

  /** `base`: the segments of a text that this one may begin like. */
  put(data: Uint8Array, base: string | null): Segmented {
    const end = data.byteLength - tailBytes(data);
    const body = data.subarray(0, end);
    const kept = base === null ? [] : this.#shared(body, base);
    const at = kept.reduce((sum, { data }) => sum + data.byteLength, 0);
    const sizes = kept.map(({ data }) => data.byteLength);
    if (at < end) sizes.push(end - at);
    const first = sizes.length > MAX_SEGMENTS ? firstToMerge(sizes) : kept.length;
    const from = sizes.slice(0, first).reduce((sum, size) => sum + size, 0);
    const ids = kept.slice(0, first).map(({ id }) => id);
    for (let start = from; start < end; start += PART_BYTES) {
      ids.push(this.#insert(body.subarray(start, start + PART_BYTES)));
    }
    return { segments: JSON.stringify(ids), tail: data.slice(end) };
  }

  bytes(segments: string, tail: Uint8Array): Uint8Array {
    const pieces = [...this.#rows(segments).map(({ data }) => data), tail];
    const whole = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0));
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.byteLength;
    }
    return whole;
  }

  /** Forgets those that no row of their owners names any more. */
  dropUnused() {
    this.#sql.exec(
      `DELETE FROM ${this.#table} WHERE id NOT IN (
         SELECT used.value FROM ${this.#owner}, json_each(${this.#owner}.segments) AS used
         WHERE ${this.#owner}.segments IS NOT NULL)`,
    );
  }

  /** Those of `base` with which `body` begins. */
  #shared(body: Uint8Array, base: string): Segment[] {
    const shared: Segment[] = [];
    let at = 0;
    for (const segment of this.#rows(base)) {
      const end = at + segment.data.byteLength;
      if (!Buffer.from(segment.data.buffer).equals(body.subarray(at, end))) break;
      shared.push(segment);
      at = end;
    }
    return shared;
  }

  #rows(segments: string): Segment[] {
    const rows = this.#sql.exec<{ id: number; data: ArrayBuffer }>(
      `SELECT kept.id, kept.data FROM json_each(?) AS wanted
       JOIN ${this.#table} AS kept ON kept.id = wanted.value ORDER BY wanted.key`,
      segments,
    );
    return [...rows].map(({ id, data }) => ({ id, data: new Uint8Array(data) }));
  }

  #insert(data: Uint8Array): number {
    const statement = `INSERT INTO ${this.#table} (data) VALUES (?) RETURNING id`;
    return this.#sql.exec<{ id: number }>(statement, data).one().id;
  }
}

function tailBytes(data: Uint8Array): number {
  let count = 0;
  while (count < MAX_TAIL_BYTES && CLOSING.has(data.at(-1 - count) ?? 0)) count++;
  return count;
}

/**
 * Of sizes from the oldest segment to the newest: from which one on they become one. Whatever is written
 * again is then a third of the whole at most, so that a byte is written again a few times in its life.
 */
function firstToMerge(sizes: number[]): number {
  let after = sizes.reduce((sum, size) => sum + size, 0);
  return sizes.findIndex((size) => {
    after -= size;
    return size < PART_BYTES / 2 && size * 2 <= after;
  });
}
