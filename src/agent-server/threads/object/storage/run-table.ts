import type { RunRecord } from "../../contract/records.ts";
import type { RunStatus } from "../../contract/run-decisions.ts";
import { compressPieces, decompressPieces } from "../log/compressed.ts";
import { insertRows } from "../log/insert.ts";

export type RunRow = {
  seq: number;
  run_id: string;
  assistant_id: string;
  graph_id: string;
  status: RunStatus;
  multitask_strategy: RunRecord["multitask_strategy"];
  metadata: string;
  /** JSON of RunKwargs, `null` when it is in `parts`. */
  kwargs: string | null;
  revision: string;
  /** Time at which the run is due. Lists order runs by it. */
  created_at: string;
  updated_at: string;
  /** Time at which the request was accepted, in epoch milliseconds; 0 in rows of earlier versions. */
  accepted_at: number;
  /** `created_at` in epoch milliseconds. */
  due_at: number;
  /** Epoch milliseconds. */
  ended_at: number | null;
  attempt: number;
  /**
   * Attempts that were lost since the last checkpoint of the root graph. Losses without fault of a run do not count.
   */
  losses: number;
  /** 1 when the run was cancelled and its last checkpoint is awaited. */
  is_stopping: number;
  /** Version of the Worker that began the newest attempt. */
  version: string | null;
  /** Size of the stored events, as `sizeOfEvent` counts: shared values count once. 0 after the events have expired. */
  event_characters: number;
  error: string | null;
  cancel_reason: string | null;
  created_by: string;
  /** JSON of an OpenTrace, `null` once the trace is complete. */
  trace: string | null;
  /** Start of the first attempt in epoch milliseconds. */
  started_at: number | null;
  /** JSON of the ThreadSnapshot before the run. `null` when the run did not change the thread, or has ended. */
  thread_snapshot: string | null;
  webhook: string | null;
  /** JSON of the pending interrupts, `INTERRUPTS_IN_PARTS` when it is in `parts`. */
  interrupts: string | null;
  /** Id of the first event. */
  first_event: number | null;
  /**
   * Grows with each change of `event_characters` or `trace`. Rows of events store the three columns too (`toProgress`):
   * those with the greatest number are current.
   */
  progress: number;
  /** Digest of a request with an idempotency key. */
  request_sha256: string | null;
};

/**
 * Columns that never change. They are stored compressed in the column `request`. Rows of earlier versions have `null`
 * there, and the columns themselves.
 */
const REQUEST_COLUMNS = ["metadata", "kwargs", "revision", "created_by"] as const;

type RunColumns = RunRow & { request: ArrayBuffer | null };

export function insertRun(sql: SqlStorage, row: RunRow) {
  const texts = REQUEST_COLUMNS.map((column) => new TextEncoder().encode(row[column] ?? ""));
  const emptied = { metadata: "", revision: "", created_by: "" };
  const columns = {
    ...row,
    ...emptied,
    // Stays `null` for kwargs in `parts`: the pieces cannot hold `null`.
    kwargs: row.kwargs && "",
    request: compressPieces(texts),
  };
  insertRows(sql, `INSERT INTO runs (${Object.keys(columns).join(", ")})`, [
    Object.values(columns),
  ]);
}

/** Reads rows one by one. `where`: the end of the statement. */
export function* readRuns(
  sql: SqlStorage,
  where: string,
  ...values: SqlStorageValue[]
): Iterable<RunRow> {
  for (const { request, ...row } of sql.exec<RunColumns>(
    `SELECT * FROM runs ${where}`,
    ...values,
  )) {
    if (request === null) yield row;
    else {
      const texts = decompressPieces(request).map((piece) => new TextDecoder().decode(piece));
      const columns = Object.fromEntries(REQUEST_COLUMNS.map((column, n) => [column, texts[n]]));
      yield { ...row, ...columns, ...(row.kwargs === null && { kwargs: null }) };
    }
  }
}

export function updateRun(sql: SqlStorage, row: RunRow) {
  const { status, updated_at, ended_at, attempt, event_characters, error, cancel_reason } = row;
  sql.exec(
    `UPDATE runs SET status = ?, updated_at = ?, ended_at = ?, attempt = ?, event_characters = ?,
       error = ?, cancel_reason = ?, trace = ?, started_at = ?, thread_snapshot = ?, interrupts = ?,
       first_event = ?, losses = ?, version = ?, progress = ?, is_stopping = ?
     WHERE run_id = ?`,
    ...[status, updated_at, ended_at, attempt, event_characters, error, cancel_reason],
    ...[row.trace, row.started_at, row.thread_snapshot, row.interrupts, row.first_event],
    ...[row.losses, row.version, row.progress, row.is_stopping, row.run_id],
  );
}

/** Returns the columns that change with each batch, as JSON for the row of its events. */
export function toProgress({ progress, event_characters, trace }: RunRow): string {
  return `[${progress},${event_characters},${trace ?? "null"}]`;
}

/** Adds the progress of the newest batch to a running run. A batch writes it to the row of its events only. */
export function withNewestBatch(sql: SqlStorage, row: RunRow): RunRow {
  if (row.status !== "running") return row;
  const [newest] = sql.exec<{ progress: string }>(
    `SELECT progress FROM events WHERE run_id = ? AND progress IS NOT NULL
     ORDER BY last_id DESC LIMIT 1`,
    row.run_id,
  );
  if (!newest) return row;
  const [progress, event_characters, trace] = JSON.parse(newest.progress);
  if (progress <= row.progress) return row;
  return { ...row, progress, event_characters, trace: trace && JSON.stringify(trace) };
}
