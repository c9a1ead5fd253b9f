import { Buffer } from "node:buffer";
import { PART_BYTES } from "./parts.ts";

/** Shorter texts stay in their owner's row: the size of a SQLite page. */
export const SEGMENTED_BYTES = 4096;
/** More segments are merged, the newest first: each read joins all of them. */
const MAX_SEGMENTS = 32;
/** Closing brackets of the JSON text, which move when a list grows. */
const MAX_TAIL_BYTES = 16;
const CLOSING = new Set([0x5d, 0x7d]);

type Segment = { id: number; data: Uint8Array };
/** Columns of the owner's row: a JSON list of segment ids, and the bytes after the segments. */
export type Segmented = { segments: string; tail: Uint8Array };

/**
 * Stores successive versions of a growing text, such as the messages of a thread after each step. Versions
 * share the segments of their common beginning, so that each costs only its new bytes.
 */
export class Segments {
  readonly #sql: SqlStorage;
  readonly #table: string;
  readonly #owner: string;

  /** `owner` is the table whose column `segments` refers to the segments. */
  constructor(sql: SqlStorage, table: "value_segments" | "event_segments", owner: string) {
    this.#sql = sql;
    this.#table = table;
    this.#owner = owner;
  }

  /** `base`: segments of a text that may have the same beginning. */
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

  /** Deletes segments that no row of the owner refers to. */
  dropUnused() {
    this.#sql.exec(
      `DELETE FROM ${this.#table} WHERE id NOT IN (
         SELECT used.value FROM ${this.#owner}, json_each(${this.#owner}.segments) AS used
         WHERE ${this.#owner}.segments IS NOT NULL)`,
    );
  }

  /** Returns the segments of `base` that `body` begins with. */
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
 * Returns the index of the first segment to merge; `sizes` begin with the oldest. A merge rewrites at most a
 * third of the text, so that each byte is rewritten only a few times.
 */
function firstToMerge(sizes: number[]): number {
  let after = sizes.reduce((sum, size) => sum + size, 0);
  return sizes.findIndex((size) => {
    after -= size;
    return size < PART_BYTES / 2 && size * 2 <= after;
  });
}
