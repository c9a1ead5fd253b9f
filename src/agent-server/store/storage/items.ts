import type { NamespaceCondition, StoredItem } from "../../../isolate/store-contract.ts";
import { OVERHEAD_BYTES } from "./limits.ts";
import { fulfils, literalPrefix, rangeOf, startAfter, toLabels, toText } from "./namespaces.ts";

type Name = { namespace: string[]; key: string };
/**
 * The number of a change is made of its time, a count within the millisecond, and a slot. A store has up to 85 slots.
 */
const SLOTS = 128;
const CHANGES_PER_MS = 32;
/** Numbers of changes stay below 2^53 until 2093, because their time begins in 2024. */
const EPOCH_MS = Date.UTC(2024);

type Row = {
  id: number;
  namespace: string;
  key: string;
  value: string;
  created_at: number;
  updated_at: number;
};
type NewValue = { value: string; ttl_ms: number | null; now: number; slot: number };
export type FoundItem = StoredItem & { id: number };

const IS_ALIVE = "(expires_at IS NULL OR expires_at > ?)";
const COLUMNS = "id, namespace, key, value, created_at, updated_at";

/** The items of one object. `get` and reads by namespace leave out expired items. `idOf` and reads by id do not. */
export class Items {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** @returns the id of the expired item with this name, which is deleted; `null` when there is none */
  deleteExpired({ namespace, key }: Name, now: number): number | null {
    const [row] = this.#sql
      .exec<{ id: number }>(
        "DELETE FROM items WHERE namespace = ? AND key = ? AND expires_at <= ? RETURNING id",
        ...[toText(namespace), key, now],
      )
      .toArray();
    return row?.id ?? null;
  }

  /**
   * Creates or replaces an item. The number of the change is unique among all objects of the store, and ordered by
   * time. The id of an item is the number of its first change, and stays when the item moves to another object. In the
   * SQL, `next` is the smallest number of this slot that is above all numbers of the object and not before `now`.
   *
   * @returns the id of the item
   */
  put({ namespace, key }: Name, { value, ttl_ms, now, slot }: NewValue): number {
    const { id } = this.#sql
      .exec<{ id: number }>(
        `INSERT INTO items (id, namespace, key, value, seq, created_at, updated_at, ttl_ms, expires_at)
         SELECT next, ?1, ?2, ?3, next, ?4, ?4, ?5, ?4 + ?5 FROM (
           SELECT max(?6, (coalesce(max(seq), 0) / ${SLOTS} + 1) * ${SLOTS}) + ?7 AS next FROM items
         ) WHERE true
         ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value, seq = excluded.seq,
           updated_at = excluded.updated_at, ttl_ms = excluded.ttl_ms, expires_at = excluded.expires_at
         RETURNING id`,
        ...[toText(namespace), key, value, now, ttl_ms],
        ...[(now - EPOCH_MS) * CHANGES_PER_MS * SLOTS, slot],
      )
      .one();
    return id;
  }

  get({ namespace, key }: Name, now: number): FoundItem | null {
    const rows = this.#sql.exec<Row>(
      `SELECT ${COLUMNS} FROM items WHERE namespace = ? AND key = ? AND ${IS_ALIVE}`,
      ...[toText(namespace), key, now],
    );
    const [row] = rows;
    return row ? toItem(row) : null;
  }

  byId(id: number): FoundItem | null {
    const [row] = this.#sql.exec<Row>(`SELECT ${COLUMNS} FROM items WHERE id = ?`, id);
    return row ? toItem(row) : null;
  }

  /** @returns `null` when the item does not exist */
  idOf({ namespace, key }: Name): number | null {
    const sql = "SELECT id FROM items WHERE namespace = ? AND key = ?";
    const [row] = this.#sql.exec<{ id: number }>(sql, toText(namespace), key);
    return row?.id ?? null;
  }

  delete(id: number) {
    this.#sql.exec("DELETE FROM items WHERE id = ?", id);
  }

  /** Estimates the bytes of an item in a message without reading its value. */
  bytesOf(id: number): number {
    const sql = `SELECT octet_length(value) + 2 * (octet_length(namespace) + octet_length(key))
      AS bytes FROM items WHERE id = ?`;
    return this.#sql.exec<{ bytes: number }>(sql, id).one().bytes + OVERHEAD_BYTES;
  }

  /** Yields ids below a namespace, newest change first. Callers read values one by one to limit memory. */
  *newest(
    prefix: string[],
    now: number,
    before = Number.MAX_SAFE_INTEGER,
  ): Generator<{ id: number; seq: number }> {
    const { from, to } = rangeOf(prefix);
    // The plus keeps SQLite from walking through all items for the few below a namespace.
    const order = prefix.length === 0 ? "seq" : "+seq";
    yield* this.#sql.exec<{ id: number; seq: number }>(
      `SELECT id, seq FROM items WHERE namespace >= ? AND namespace < ? AND ${IS_ALIVE} AND ${order} < ?
       ORDER BY ${order} DESC`,
      ...[from, to, now, before],
    );
  }

  /**
   * Yields distinct namespaces that match, in order, cut to `max_depth` labels. `after`: the last one that was read.
   */
  *namespaces(
    { conditions, max_depth }: { conditions: NamespaceCondition[]; max_depth: number | null },
    now: number,
    after: string[] | null = null,
  ): Generator<string[]> {
    const { from: first, to } = rangeOf(literalPrefix(conditions));
    const from = after ? startAfter(after, max_depth) : first;
    const rows = this.#sql.exec<{ namespace: string }>(
      `SELECT DISTINCT namespace FROM items WHERE namespace >= ? AND namespace < ? AND ${IS_ALIVE} ORDER BY namespace`,
      ...[from, to, now],
    );
    let last: string | null = null;
    for (const { namespace } of rows) {
      const labels = toLabels(namespace);
      if (!fulfils(labels, conditions)) continue;
      const cut = labels.slice(0, max_depth ?? labels.length);
      const text = toText(cut);
      if (text === last) continue;
      last = text;
      yield cut;
    }
  }

  refresh(ids: number[], now: number) {
    for (const id of ids) {
      const sql = "UPDATE items SET expires_at = ? + ttl_ms WHERE id = ? AND ttl_ms IS NOT NULL";
      this.#sql.exec(sql, now, id);
    }
  }

  /** Returns the epoch milliseconds of the earliest expiry, which may be past. @returns `null` when no item expires */
  nextExpiry(): number | null {
    const sql = "SELECT min(expires_at) AS at FROM items WHERE expires_at IS NOT NULL";
    return this.#sql.exec<{ at: number | null }>(sql).one().at;
  }

  expiredIds(now: number, limit: number): number[] {
    const sql = "SELECT id FROM items WHERE expires_at <= ? ORDER BY expires_at LIMIT ?";
    return [...this.#sql.exec<{ id: number }>(sql, now, limit)].map(({ id }) => id);
  }
}

function toItem({ namespace, ...row }: Row): FoundItem {
  return { ...row, namespace: toLabels(namespace), score: null };
}
