import { insertRows } from "../log/insert.ts";
import type { RevisionRef, ThreadRecord } from "../records.ts";
import type { Ttl } from "../ttl.ts";

/** Tables of a thread's history. Copied rows keep the ids of their checkpoints. */
export const COPIED_TABLES = [
  "checkpoints",
  "channel_values",
  "value_segments",
  "writes",
  "parts",
] as const;
export type CopiedTable = (typeof COPIED_TABLES)[number];
export type CopiedRow = Record<string, SqlStorageValue>;
export type CopiedPage = { rows: CopiedRow[]; next: number | null };
/** Last row of each table when the copy began. Later rows are not copied. */
export type CopyBounds = Record<CopiedTable, number>;

/** Fields of a thread outside the copied tables. */
export type CopyHead = Pick<ThreadRecord, "metadata" | "config" | "status" | "interrupts"> & {
  values: string | null;
  revision: RevisionRef | null;
  ttl: Ttl | null;
  bounds: CopyBounds;
};

// RPC accepts messages of up to 32 MiB, and a page is one transaction.
const PAGE_BYTES = 4 * 1024 * 1024;

/** Parts of events and traces are not copied. */
const CONDITION: Record<CopiedTable, string> = {
  checkpoints: "1",
  channel_values: "1",
  value_segments: "1",
  writes: "1",
  parts: "(name LIKE 'value %' OR name LIKE 'write %')",
};

export function copyBounds(sql: SqlStorage): CopyBounds {
  const last = (table: CopiedTable) =>
    sql.exec<{ last: number }>(`SELECT coalesce(max(rowid), 0) AS last FROM ${table}`).one().last;
  return {
    checkpoints: last("checkpoints"),
    channel_values: last("channel_values"),
    value_segments: last("value_segments"),
    writes: last("writes"),
    parts: last("parts"),
  };
}

export function copyPage(
  sql: SqlStorage,
  table: CopiedTable,
  after: number,
  upto: number,
): CopiedPage {
  const found = sql.exec<CopiedRow & { row_number: number }>(
    `SELECT rowid AS row_number, * FROM ${table}
     WHERE rowid > ? AND rowid <= ? AND ${CONDITION[table]} ORDER BY rowid`,
    after,
    upto,
  );
  const rows: CopiedRow[] = [];
  let bytes = 0;
  for (const { row_number, ...row } of found) {
    rows.push(row);
    bytes += sizeOf(row);
    if (bytes > PAGE_BYTES) return { rows, next: row_number };
  }
  return { rows, next: null };
}

/** Replaces the thread id in the metadata of checkpoints. All else is copied unchanged. */
export function insertCopies(
  sql: SqlStorage,
  table: CopiedTable,
  rows: CopiedRow[],
  thread_id: string,
) {
  const [first] = rows;
  if (!first) return;
  const columns = Object.keys(first);
  const values = rows.map((row) =>
    columns.map((column) => {
      const value = row[column] ?? null;
      const isMetadata = table === "checkpoints" && column === "metadata";
      return isMetadata ? withThread(String(value), thread_id) : value;
    }),
  );
  insertRows(sql, `INSERT OR REPLACE INTO ${table} (${columns.join(", ")})`, values);
}

function withThread(metadata: string, thread_id: string): string {
  const parsed = JSON.parse(metadata) as Record<string, unknown>;
  return JSON.stringify("thread_id" in parsed ? { ...parsed, thread_id } : parsed);
}

function sizeOf(row: CopiedRow): number {
  return Object.values(row).reduce<number>((sum, value) => {
    if (value instanceof ArrayBuffer) return sum + value.byteLength;
    return sum + (typeof value === "string" ? value.length : 8);
  }, 0);
}
