import { allows } from "../../shared/filters.ts";
import { isMigrated, migrate } from "../../shared/storage/object-tables.ts";
import { Firings } from "./firings.ts";
import { MIGRATIONS } from "./migrations.ts";
import type { CronFilter, CronQuery, CronRow, FiringRow } from "./records.ts";

type Sqlite = Record<string, SqlStorageValue>;

const IS_WAITING = "enabled = 1 AND next_at IS NOT NULL";
const DUE_AT = "max(next_at, coalesce(retry_at, 0))";
const SORTED_BY = { next_run_date: "next_at" } as const;

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

/** The crons of one deployment. Calls are synchronous. */
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
    const places = COLUMNS.map(() => "?").join(", ");
    const sql = `INSERT OR REPLACE INTO crons (${COLUMNS.join(", ")}) VALUES (${places})`;
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

  /** Due crons, the oldest first. */
  due(now: number, limit: number): CronRow[] {
    const where = `${IS_WAITING} AND ${DUE_AT} <= ? ORDER BY ${DUE_AT}, cron_id LIMIT ?`;
    return [...this.#rows(where, now, limit)];
  }

  nextDue(): number | null {
    if (!this.#exists) return null;
    const sql = `SELECT min(${DUE_AT}) AS at FROM crons WHERE ${IS_WAITING}`;
    return this.#storage.sql.exec<{ at: number | null }>(sql).one().at;
  }

  *search(query: CronQuery): Generator<CronRow> {
    const { sort_by, sort_order } = query;
    const column = sort_by === "next_run_date" ? SORTED_BY[sort_by] : sort_by;
    const order = `ORDER BY ${column} ${sort_order === "asc" ? "ASC" : "DESC"}, cron_id ${sort_order}`;
    yield* this.#matching(query, order);
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

  *#matching(filter: CronFilter, order: string): Generator<CronRow> {
    const { assistant_id, thread_id, enabled, metadata, filters } = filter;
    const where = `(?1 IS NULL OR assistant_id = ?1) AND (?2 IS NULL OR thread_id = ?2)
      AND (?3 IS NULL OR enabled = ?3) ${order}`;
    const wanted = Object.entries(metadata ?? {});
    for (const row of this.#rows(where, assistant_id, thread_id, toSqlite(enabled))) {
      const has = ([key, value]: [string, unknown]) =>
        JSON.stringify(row.metadata[key]) === JSON.stringify(value);
      if (wanted.every(has) && allows(filters, row.metadata)) yield row;
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
