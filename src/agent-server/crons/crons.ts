import { allows } from "../../shared/filters.ts";
import { isEqual } from "../../shared/guards.ts";
import { isMigrated, migrate } from "../../shared/storage/object-tables.ts";
import { Firings } from "./firings.ts";
import { MIGRATIONS } from "./migrations.ts";
import type { CronFilter, CronQuery, CronRow, DueCron, FiringRow, NextFiring } from "./records.ts";
import type { CronSort } from "./schema.ts";

type Sqlite = Record<string, SqlStorageValue>;

const IS_WAITING = "enabled = 1 AND next_at IS NOT NULL";
const DUE_AT = "max(next_at, coalesce(retry_at, 0))";
const NOT_IN = "cron_id NOT IN (SELECT value FROM json_each(?))";
/** Columns whose names differ from the fields of the API. */
const SORTED_BY: Partial<Record<CronSort, string>> = {
  next_run_date: "next_at",
  end_time: "end_at",
};

const COLUMNS = [
  "cron_id",
  "deployment_id",
  "assistant_id",
  "thread_id",
  "schedule",
  "timezone",
  "end_at",
  "enabled",
  "on_run_completed",
  "payload",
  "metadata",
  "principal",
  "user_id",
  "created_at",
  "updated_at",
  "next_at",
  "tries",
  "retry_at",
] as const satisfies (keyof CronRow)[];

/** The crons of one deployment. All calls but `deleteAll` are synchronous. */
export class Crons {
  readonly #storage: DurableObjectStorage;
  readonly #firings: Firings;
  #exists: boolean;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#firings = new Firings(storage.sql);
    this.#exists = isMigrated(storage);
    if (this.#exists) migrate(storage, MIGRATIONS);
  }

  put(row: CronRow) {
    migrate(this.#storage, MIGRATIONS);
    this.#exists = true;
    const values = COLUMNS.map((column) => toSqlite(row[column]));
    const parameters = COLUMNS.map(() => "?").join(", ");
    const sql = `INSERT OR REPLACE INTO crons (${COLUMNS.join(", ")}) VALUES (${parameters})`;
    this.#storage.sql.exec(sql, ...values);
  }

  get(cron_id: string): CronRow | null {
    const [row] = this.#rows("cron_id = ?", cron_id);
    return row ?? null;
  }

  /** @returns `false` when the cron does not exist */
  delete(cron_id: string): boolean {
    return this.#delete("cron_id", cron_id);
  }

  deleteOfThread(thread_id: string): boolean {
    return this.#delete("thread_id", thread_id);
  }

  deleteOfAssistant(assistant_id: string): boolean {
    return this.#delete("assistant_id", assistant_id);
  }

  putFiring(firing: FiringRow): void {
    if (this.#exists) this.#firings.put(firing);
  }

  firingsOf(cron_id: string): FiringRow[] {
    return this.#exists ? this.#firings.list(cron_id) : [];
  }

  count(): number {
    if (!this.#exists) return 0;
    return this.#storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM crons").one().n;
  }

  /**
   * Stores the time of the next firing, or of the next attempt at the firing of `at`. Writes one row: no index has
   * these columns.
   * @returns `false` when the cron was deleted or rescheduled since
   */
  advance(cron_id: string, at: number, { next_at, tries, retry_at }: NextFiring): boolean {
    if (!this.#exists) return false;
    const sql =
      "UPDATE crons SET next_at = ?, tries = ?, retry_at = ? WHERE cron_id = ? AND next_at = ?";
    const values = [next_at, tries, retry_at, cron_id, at];
    return this.#storage.sql.exec(sql, ...values).rowsWritten > 0;
  }

  /** Returns due crons without those in `in_flight`. The first one is due for the longest time. */
  due(now: number, limit: number, in_flight: string[]): DueCron[] {
    if (!this.#exists) return [];
    const sql = `SELECT cron_id, next_at AS at, octet_length(payload) AS bytes FROM crons
      WHERE ${IS_WAITING} AND ${DUE_AT} <= ? AND ${NOT_IN} ORDER BY ${DUE_AT}, cron_id LIMIT ?`;
    const ids = JSON.stringify(in_flight);
    return this.#storage.sql.exec<DueCron>(sql, now, ids, limit).toArray();
  }

  /**
   * Returns the epoch milliseconds of the next firing or retry without crons in `in_flight`, `null` when there is none.
   */
  nextDue(in_flight: string[]): number | null {
    if (!this.#exists) return null;
    const sql = `SELECT min(${DUE_AT}) AS at FROM crons WHERE ${IS_WAITING} AND ${NOT_IN}`;
    const ids = JSON.stringify(in_flight);
    return this.#storage.sql.exec<{ at: number | null }>(sql, ids).one().at;
  }

  size(): number {
    return this.#storage.sql.databaseSize;
  }

  /** Yields matching crons from the offset on. Of the skipped ones only the id and the metadata are read. */
  *search(query: CronQuery): Generator<CronRow> {
    const { sort_by, sort_order } = query;
    const column = SORTED_BY[sort_by] ?? sort_by;
    const order = `ORDER BY ${column} ${sort_order === "asc" ? "ASC" : "DESC"}, cron_id ${sort_order}`;
    let passed = 0;
    for (const cron_id of this.#matching(query, order)) {
      const row = passed++ < query.offset ? null : this.get(cron_id);
      if (row) yield row;
    }
  }

  countMatching(filter: CronFilter): number {
    let count = 0;
    for (const _ of this.#matching(filter, "")) count++;
    return count;
  }

  async deleteAll(): Promise<void> {
    this.#exists = false;
    await this.#storage.deleteAll();
  }

  *#matching(filter: CronFilter, order: string): Generator<string> {
    if (!this.#exists) return;
    const { assistant_id, thread_id, enabled, metadata, filters } = filter;
    const sql = `SELECT cron_id, metadata FROM crons
      WHERE (?1 IS NULL OR assistant_id = ?1) AND (?2 IS NULL OR thread_id = ?2)
      AND (?3 IS NULL OR enabled = ?3) ${order}`;
    const wanted = Object.entries(metadata ?? {});
    const values = [assistant_id, thread_id, toSqlite(enabled)];
    type Row = { cron_id: string; metadata: string };
    for (const row of this.#storage.sql.exec<Row>(sql, ...values)) {
      const own = JSON.parse(row.metadata);
      const has = ([key, value]: [string, unknown]) =>
        Object.hasOwn(own, key) && isEqual(own[key], value);
      if (wanted.every(has) && allows(filters, own)) yield row.cron_id;
    }
  }

  *#rows(where: string, ...values: SqlStorageValue[]): Generator<CronRow> {
    if (!this.#exists) return;
    const sql = `SELECT * FROM crons WHERE ${where}`;
    for (const row of this.#storage.sql.exec<Sqlite>(sql, ...values)) yield toRow(row);
  }

  #delete(column: "cron_id" | "thread_id" | "assistant_id", value: string): boolean {
    if (!this.#exists) return false;
    const cursor = this.#storage.sql.exec(`DELETE FROM crons WHERE ${column} = ?`, value);
    if (cursor.rowsWritten === 0) return false;
    this.#firings.deleteOrphans();
    return true;
  }
}

function toSqlite(value: unknown): SqlStorageValue {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
  return value as SqlStorageValue;
}

function toRow({ enabled, payload, metadata, principal, ...row }: Sqlite): CronRow {
  // The columns are the row's own fields, as `put` wrote them.
  return {
    ...row,
    enabled: enabled === 1,
    payload: JSON.parse(String(payload)),
    metadata: JSON.parse(String(metadata)),
    principal: JSON.parse(String(principal)),
  } as CronRow;
}
