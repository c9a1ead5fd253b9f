// Rows have at most 2 MB. Half of it leaves room for the other columns.
export const PART_BYTES = 1024 * 1024;

/** Keeps data of any size: small data in its owner's row, the rest in `parts` under the owner's name. */
export class Parts {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Returns the value of the owner's column: the data, or `null` when it is stored in parts. */
  put<T extends string | Uint8Array>(name: string, data: T): T | null {
    // Three bytes are the upper bound of one UTF-16 unit in UTF-8.
    const bytes = typeof data === "string" ? data.length * 3 : data.byteLength;
    if (bytes <= PART_BYTES) return data;
    this.delete(name);
    this.insert(name, data);
    return null;
  }

  /** Stores data of any size under a new name. */
  insert(name: string, data: string | Uint8Array) {
    const whole: Uint8Array = typeof data === "string" ? new TextEncoder().encode(data) : data;
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
    this.#sql.exec("DELETE FROM parts WHERE name = ?", name);
  }

  /** Deletes parts named `{prefix}{number}` up to the number `last`. */
  deleteNumbered(prefix: string, last: number) {
    const from = prefix.length + 1;
    this.#sql.exec(
      "DELETE FROM parts WHERE substr(name, 1, ?) = ? AND CAST(substr(name, ?) AS INTEGER) <= ?",
      ...[from - 1, prefix, from, last],
    );
  }

  #read(name: string): Uint8Array {
    const rows = this.#sql
      .exec<{ data: ArrayBuffer }>("SELECT data FROM parts WHERE name = ? ORDER BY part", name)
      .toArray();
    const size = rows.reduce((sum, { data }) => sum + data.byteLength, 0);
    const whole = new Uint8Array(size);
    let at = 0;
    for (const { data } of rows) {
      whole.set(new Uint8Array(data), at);
      at += data.byteLength;
    }
    return whole;
  }
}
