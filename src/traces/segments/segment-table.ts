import type { EncodedSegment, SegmentInfo } from "./codec/encode.ts";

const INFO = [
  ...(["runs", "min_us", "max_us", "min_changed", "max_changed"] as const),
  ...(["payload_bytes", "head_bytes"] as const),
] satisfies (keyof SegmentInfo)[];
const BLOBS = ["ids", "traces", "bloom", "head", "body"] as const;

/** Table of all segments but the small ones. */
export const SEGMENTS = "segments";

/** Columns. Those that a restarted object reads come before the large ones. */
export const COLUMNS = `
  number INTEGER PRIMARY KEY,
  ${INFO.map((name) => `${name} INTEGER NOT NULL`).join(",\n  ")},
  counts TEXT NOT NULL,
  ${BLOBS.map((name) => `${name} BLOB NOT NULL`).join(",\n  ")}`;

/** Returns the name of a table of small segments. Their merge drops the table: a dropped table writes no rows. */
export function smallTable(generation: number): string {
  return `small_segments_${generation}`;
}

export type SegmentHeader = SegmentInfo & { number: number; ids: ArrayBuffer; traces: ArrayBuffer };

/** Reads and writes the rows of segments. */
export class SegmentTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  create(table: string): void {
    this.#sql.exec(`CREATE TABLE ${table} (${COLUMNS})`);
  }

  drop(table: string): void {
    this.#sql.exec(`DROP TABLE ${table}`);
  }

  headers(table: string): SegmentHeader[] {
    const list = ["number", ...INFO, "ids", "traces"].join();
    return this.#sql.exec<SegmentHeader>(`SELECT ${list} FROM ${table} ORDER BY number`).toArray();
  }

  /** Returns the counts of the newest segment, `null` without segments. */
  newestCounts(table: string): { number: number; counts: string } | null {
    const [row] = this.#sql
      .exec<{ number: number; counts: string }>(
        `SELECT number, counts FROM ${table} ORDER BY number DESC LIMIT 1`,
      )
      .toArray();
    return row ?? null;
  }

  insert(table: string, number: number, segment: EncodedSegment, counts: string): void {
    const names = ["number", "counts", ...INFO, ...BLOBS];
    this.#sql.exec(
      `INSERT INTO ${table} (${names.join()}) VALUES (${names.map(() => "?").join()})`,
      number,
      counts,
      ...valuesOf(segment),
    );
  }

  replace(table: string, number: number, segment: EncodedSegment): void {
    const list = [...INFO, ...BLOBS].map((name) => `${name} = ?`).join();
    this.#sql.exec(`UPDATE ${table} SET ${list} WHERE number = ?`, ...valuesOf(segment), number);
  }

  delete(table: string, number: number): void {
    this.#sql.exec(`DELETE FROM ${table} WHERE number = ?`, number);
  }

  deleteAll(table: string): void {
    this.#sql.exec(`DELETE FROM ${table}`);
  }

  blob(table: string, number: number, name: "bloom" | "head"): Uint8Array {
    return this.#one(`SELECT ${name} AS bytes FROM ${table} WHERE number = ?`, number);
  }

  bodyBytes(table: string): Map<number, number> {
    return this.#sizes(table, "length(body)");
  }

  /** Returns the size of all blobs of each segment, by its number. */
  rowBytes(table: string): Map<number, number> {
    return this.#sizes(table, BLOBS.map((name) => `length(${name})`).join(" + "));
  }

  #sizes(table: string, size: string): Map<number, number> {
    const rows = this.#sql.exec<{ number: number; bytes: number }>(
      `SELECT number, ${size} AS bytes FROM ${table} ORDER BY number`,
    );
    return new Map(rows.toArray().map(({ number, bytes }) => [number, bytes]));
  }

  /**
   * Reads a part of a body: `bytes` bytes from `offset`, or all when `bytes` is `null`. SQLite reads the whole body
   * either way.
   */
  bodyPart(table: string, number: number, offset: number, bytes: number | null): Uint8Array {
    const part = `substr(body, ${offset + 1}${bytes === null ? "" : `, ${bytes}`})`;
    return this.#one(`SELECT ${part} AS bytes FROM ${table} WHERE number = ?`, number);
  }

  #one(query: string, number: number): Uint8Array {
    const { bytes } = this.#sql.exec<{ bytes: ArrayBuffer }>(query, number).one();
    return new Uint8Array(bytes);
  }
}

function valuesOf(segment: EncodedSegment) {
  return [...INFO.map((name) => segment[name]), ...BLOBS.map((name) => bufferOf(segment[name]))];
}

function bufferOf(bytes: Uint8Array): ArrayBuffer {
  const { buffer, byteLength } = bytes;
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) return buffer;
  return bytes.slice().buffer as ArrayBuffer;
}
