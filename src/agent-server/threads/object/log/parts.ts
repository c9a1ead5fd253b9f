import { Buffer } from "node:buffer";
import type { ThreadTables } from "./lazy-tables.ts";

// Rows have at most 2 MB. Half of it leaves room for the other columns.
export const PART_BYTES = 1024 * 1024;
/** Size of data in a row with other long columns, such as metadata and config of 256 Ki characters each. */
export const SHORT_BYTES = 128 * 1024;

/** Whether data is stored in its owner's row. */
export function fits(data: string | Uint8Array, max_bytes = PART_BYTES): boolean {
  // Three bytes are the upper bound of one UTF-16 unit in UTF-8.
  return data.length * 3 <= max_bytes || Buffer.byteLength(data) <= max_bytes;
}

/** Keeps data of any size: small data in its owner's row, the rest in `parts` under the owner's name. */
export class Parts {
  readonly #sql: SqlStorage;
  readonly #tables: ThreadTables;

  constructor(tables: ThreadTables) {
    this.#sql = tables.sql;
    this.#tables = tables;
  }

  /**
   * Returns the value of the owner's column: the data, or `null` when it is stored in parts.
   * @param max_bytes size of data in the owner's row
   */
  put<T extends string | Uint8Array>(name: string, data: T, max_bytes?: number): T | null {
    if (fits(data, max_bytes)) return data;
    this.delete(name);
    this.insert(name, data);
    return null;
  }

  /** Stores data like `put`. Deletes earlier data with this name from `parts`. */
  replace<T extends string | Uint8Array>(name: string, data: T, max_bytes?: number): T | null {
    this.delete(name);
    return this.put(name, data, max_bytes);
  }

  /** Stores data of any size under a new name. */
  insert(name: string, data: string | Uint8Array) {
    const whole: Uint8Array = typeof data === "string" ? new TextEncoder().encode(data) : data;
    this.#tables.create("parts");
    for (let part = 0; part * PART_BYTES < whole.byteLength; part++) {
      const slice = whole.slice(part * PART_BYTES, (part + 1) * PART_BYTES);
      this.#sql.exec("INSERT INTO parts (name, part, data) VALUES (?, ?, ?)", name, part, slice);
    }
  }

  bytes(name: string, column: ArrayBuffer | null): Uint8Array {
    return column === null ? this.#read(name) : new Uint8Array(column);
  }

  text(name: string, column: string | null): string {
    return column ?? new TextDecoder().decode(this.#read(name));
  }

  delete(name: string) {
    if (this.#tables.has("parts")) this.#sql.exec("DELETE FROM parts WHERE name = ?", name);
  }

  /** Returns the size in bytes of data in `parts`, 0 when there is none. */
  sizeOf(name: string): number {
    if (!this.#tables.has("parts")) return 0;
    const sum = "SELECT coalesce(sum(length(data)), 0) AS size FROM parts WHERE name = ?";
    return this.#sql.exec<{ size: number }>(sum, name).one().size;
  }

  #read(name: string): Uint8Array {
    if (!this.#tables.has("parts")) return new Uint8Array();
    const whole = new Uint8Array(this.sizeOf(name));
    const rows = this.#sql.exec<{ data: ArrayBuffer }>(
      "SELECT data FROM parts WHERE name = ? ORDER BY part",
      name,
    );
    let at = 0;
    for (const { data } of rows) {
      whole.set(new Uint8Array(data), at);
      at += data.byteLength;
    }
    return whole;
  }
}
