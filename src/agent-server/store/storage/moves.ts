import type { MovedItem } from "./calls.ts";

type StoredRow = Omit<MovedItem, "vectors">;

const COLUMNS =
  "id, namespace, key, value, seq, created_at, updated_at, ttl_ms, expires_at" as const;
/**
 * Maximum stored bytes of a batch. An RPC message has at most 32 MiB, in which a character may have two bytes. A larger
 * item is a batch alone: with its vectors it has at most 18 MiB.
 */
const MAX_MOVE_BYTES = 4 * 1024 * 1024;
const MAX_MOVE_ITEMS = 500;

/** Reads, adds and deletes items that move from one object of a store to another, in the order of their ids. */
export class Moves {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** @returns the last id of the next batch, `null` when no items are left */
  next(): number | null {
    let last: number | null = null;
    let left = MAX_MOVE_BYTES;
    const rows = this.#sql.exec<{ id: number; bytes: number }>(
      `SELECT id, octet_length(value) + coalesce(
         (SELECT sum(octet_length(vector)) FROM vectors WHERE item_id = items.id), 0) AS bytes
       FROM items ORDER BY id LIMIT ?`,
      MAX_MOVE_ITEMS,
    );
    for (const { id, bytes } of rows) {
      left -= bytes;
      if (last !== null && left < 0) break;
      last = id;
    }
    return last;
  }

  upTo(last: number): MovedItem[] {
    const rows = this.#sql.exec<StoredRow>(
      `SELECT ${COLUMNS} FROM items WHERE id <= ? ORDER BY id`,
      last,
    );
    return rows.toArray().map((row) => ({ ...row, vectors: this.#vectorsOf(row.id) }));
  }

  /** The caller opens the transaction. */
  deleteUpTo(last: number) {
    this.#sql.exec("DELETE FROM vectors WHERE item_id <= ?", last);
    this.#sql.exec("DELETE FROM items WHERE id <= ?", last);
  }

  /** Adds an item, unless the object has its id or its name. The caller opens the transaction. */
  add({ vectors, ...item }: MovedItem) {
    const { id, namespace, key, value, seq, created_at, updated_at, ttl_ms, expires_at } = item;
    const { rowsWritten } = this.#sql.exec(
      `INSERT INTO items (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO NOTHING ON CONFLICT (namespace, key) DO NOTHING`,
      ...[id, namespace, key, value, seq, created_at, updated_at, ttl_ms, expires_at],
    );
    if (rowsWritten === 0) return;
    for (const [n, vector] of vectors.entries())
      this.#sql.exec("INSERT INTO vectors (item_id, n, vector) VALUES (?, ?, ?)", id, n, vector);
  }

  has(id: number): boolean {
    return this.#sql.exec("SELECT 1 FROM items WHERE id = ?", id).toArray().length > 0;
  }

  /** Whether the object has several namespaces: a division cannot separate the items of one. */
  isDivisible(): boolean {
    const { first, last } = this.#sql
      .exec<{ first: string | null; last: string | null }>(
        `SELECT (SELECT min(namespace) FROM items) AS first, (SELECT max(namespace) FROM items) AS last`,
      )
      .one();
    return first !== last;
  }

  #vectorsOf(id: number): ArrayBuffer[] {
    const sql = "SELECT vector FROM vectors WHERE item_id = ? ORDER BY n";
    return [...this.#sql.exec<{ vector: ArrayBuffer }>(sql, id)].map(({ vector }) => vector);
  }
}
