import type { RevisionRef, ThreadRecord } from "../../contract/records.ts";
import type { Ttl } from "../../contract/ttl.ts";
import { insertRows } from "../log/insert.ts";
import type { ThreadTables } from "../log/lazy-tables.ts";
import type { Checkpoints } from "./checkpoints.ts";
import { type CheckpointColumns, fromColumns, toBody } from "./row-format.ts";

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
type CellValue = SqlStorageValue | Uint8Array;
/** Primary key of the last row of a page. */
export type CopyCursor = SqlStorageValue[];
export type CopiedPage = { rows: CopiedRow[]; next: CopyCursor | null };
/**
 * End of the history when the copy began: its newest checkpoint, and the numbers of its newest run and segment.
 * `deletions`: `Checkpoints.deletions` at that time. Later deletions leave holes between pages, and ids of deleted
 * segments may be assigned again. A later run that replaces an answer would hide it from the copy.
 */
export type CopyBounds = {
  checkpoint_id: string;
  run: number;
  segment: number;
  deletions?: string;
};

/** Fields of a thread outside the copied tables. */
export type CopyHead = Pick<ThreadRecord, "metadata" | "config" | "status" | "interrupts"> & {
  isStopped: boolean;
  values: string | null;
  revision: RevisionRef | null;
  ttl: Ttl | null;
  bounds: CopyBounds;
};

// A page ends with the row that exceeds this size. RPC accepts messages of up to 32 MiB, and a page is one transaction.
const PAGE_BYTES = 4 * 1024 * 1024;

/** `group`: the lazy tables that include the table. `bound`: the parameter of `where`. */
type TableCopy = {
  group: Parameters<ThreadTables["has"]>[0] | null;
  key: string[];
  where: string;
  bound: keyof CopyBounds | null;
};

/**
 * Values and parts of later checkpoints may be copied too: versions are unique, so no checkpoint of the copy refers to
 * them. Writes of later runs are left out: they could answer an interrupt that the copy still has. Parts of events and
 * traces are left out, as their tables are not copied.
 */
const COPIES: Record<CopiedTable, TableCopy> = {
  checkpoints: {
    group: null,
    key: ["ns", "checkpoint_id"],
    where: "checkpoint_id <= ?",
    bound: "checkpoint_id",
  },
  channel_values: {
    group: "channel_values",
    key: ["ns", "channel", "version"],
    where: "1",
    bound: null,
  },
  value_segments: { group: "channel_values", key: ["id"], where: "id <= ?", bound: "segment" },
  writes: {
    group: "writes",
    key: ["ns", "checkpoint_id", "task_id", "idx"],
    where: "coalesce(run_id, '') NOT IN (SELECT run_id FROM runs WHERE seq > ?)",
    bound: "run",
  },
  parts: {
    group: "parts",
    key: ["name", "part"],
    where: "(name LIKE 'value %' OR name LIKE 'write %')",
    bound: null,
  },
};

/** Reads the history of a thread for a copy, and inserts it into the copy. */
export class HistoryCopies {
  readonly #tables: ThreadTables;
  readonly #checkpoints: Checkpoints;

  constructor(tables: ThreadTables, checkpoints: Checkpoints) {
    this.#tables = tables;
    this.#checkpoints = checkpoints;
  }

  /** Returns the end of the history that a copy of the thread reads. */
  bounds(): CopyBounds {
    const segment = this.#tables.has("channel_values")
      ? "(SELECT coalesce(max(id), 0) FROM value_segments)"
      : "0";
    const end = this.#tables.sql
      .exec<Omit<CopyBounds, "deletions">>(
        `SELECT (SELECT coalesce(max(checkpoint_id), '') FROM checkpoints) AS checkpoint_id,
           (SELECT coalesce(max(seq), 0) FROM runs) AS run,
           ${segment} AS segment`,
      )
      .one();
    return { ...end, deletions: this.#checkpoints.deletions };
  }

  /** @returns `"outdated"` when `Checkpoints.deletions` has changed since the copy began */
  page(table: CopiedTable, after: CopyCursor | null, bounds: CopyBounds): CopiedPage | "outdated" {
    // A thread of an earlier version that copies this one sends no `deletions`, and does not know the answer "outdated".
    const { deletions = this.#checkpoints.deletions } = bounds;
    if (deletions !== this.#checkpoints.deletions) return "outdated";
    const { group, key, where, bound } = COPIES[table];
    if (group && !this.#tables.has(group)) return { rows: [], next: null };
    const keys = key.join(", ");
    const isAfter = after ? `(${keys}) > (${key.map(() => "?").join(", ")})` : "1";
    const found = this.#tables.sql.exec<CopiedRow>(
      `SELECT * FROM ${table} WHERE ${isAfter} AND ${where} ORDER BY ${keys}`,
      ...(after ?? []),
      ...(bound ? [bounds[bound]] : []),
    );
    const rows: CopiedRow[] = [];
    let bytes = 0;
    for (const row of found) {
      rows.push(row);
      bytes += sizeOf(row);
      if (bytes > PAGE_BYTES) return { rows, next: key.map((column) => row[column] ?? null) };
    }
    return { rows, next: null };
  }

  /** Inserts copied rows, with the id of the new thread in the metadata of checkpoints that name a thread. */
  insert(table: CopiedTable, rows: CopiedRow[], thread_id: string) {
    const [first] = rows;
    if (!first) return;
    const { group } = COPIES[table];
    if (group) this.#tables.create(group);
    const columns = Object.keys(first);
    const values = rows.map((row) => {
      const copy = table === "checkpoints" ? copyCheckpoint(row, thread_id) : row;
      return columns.map((column) => copy[column] ?? null);
    });
    const into = `INSERT OR REPLACE INTO ${table} (${columns.join(", ")})`;
    insertRows(this.#tables.sql, into, values);
    this.#checkpoints.clearCache();
  }

  /** Empties the tables, before each attempt of a copy. */
  clear() {
    for (const table of COPIED_TABLES) {
      const { group } = COPIES[table];
      if (group === null || this.#tables.has(group)) this.#tables.sql.exec(`DELETE FROM ${table}`);
    }
    this.#checkpoints.clearCache();
  }
}

function copyCheckpoint(row: CopiedRow, thread_id: string): Record<string, CellValue> {
  const checkpoint = fromColumns(row as CheckpointColumns);
  const body = toBody({ ...checkpoint, metadata: withThread(checkpoint.metadata, thread_id) });
  const inBody = { checkpoint: "", metadata: "", inline_values: null, inline_writes: null };
  return { ...row, ...inBody, body };
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
