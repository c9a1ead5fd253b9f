import { insertRows } from "../log/insert.ts";
import type {
  Interrupts,
  Principal,
  RevisionRef,
  RunRecord,
  RunRequest,
  ThreadSnapshot,
} from "../records.ts";
import type { RunStatus } from "../runs.ts";

/** The public record of a run and the fields that only its thread reads. */
export type StoredRun = RunRecord & {
  revision: RevisionRef;
  created_by: Principal;
  due_at: number;
  attempt: number;
  started_at: number | null;
  ended_at: number | null;
  /** Pending interrupts by task. */
  interrupts: Interrupts | null;
  /** Digest of the request, when it had an idempotency key. */
  request_sha256: string | null;
};

export type RunQuery = { status?: RunStatus | undefined; limit: number; offset: number };

export type RunRow = {
  seq: number;
  run_id: string;
  assistant_id: string;
  graph_id: string;
  status: RunStatus;
  multitask_strategy: RunRecord["multitask_strategy"];
  metadata: string;
  kwargs: string | null;
  revision: string;
  created_at: string;
  updated_at: string;
  due_at: number;
  ended_at: number | null;
  attempt: number;
  /** Characters of stored events, 0 once they were deleted. */
  event_characters: number;
  error: string | null;
  cancel_reason: string | null;
  created_by: string;
  /** JSON of an OpenTrace, `null` once the trace is complete. */
  trace: string | null;
  /** Start of the first attempt. */
  started_at: number | null;
  /** JSON of a ThreadSnapshot until the run that changed the thread ends. */
  thread_snapshot: string | null;
  webhook: string | null;
  /** JSON of the pending interrupts. */
  interrupts: string | null;
  /** Id of the first event. */
  first_event: number | null;
  /** Digest of a request with an idempotency key. */
  request_sha256: string | null;
};

/** `kwargs` is the column: `null` when the text is stored in parts. */
export function newRunRow(
  run: RunRequest,
  {
    metadata,
    webhook,
    kwargs,
    snapshot,
  }: {
    metadata: RunRecord["metadata"];
    webhook: string | null;
    kwargs: string | null;
    snapshot: ThreadSnapshot | null;
  },
): Omit<RunRow, "seq"> {
  const { run_id, assistant_id, graph_id, multitask_strategy } = run;
  const due_at = Date.now() + run.after_seconds * 1000;
  const created_at = new Date(due_at).toISOString();
  return {
    ...{ run_id, assistant_id, graph_id, multitask_strategy, kwargs, webhook },
    ...{ created_at, updated_at: created_at, due_at, started_at: null, ended_at: null },
    status: "pending",
    metadata: JSON.stringify(metadata),
    revision: JSON.stringify(run.revision),
    created_by: JSON.stringify(run.created_by),
    thread_snapshot: snapshot && JSON.stringify(snapshot),
    request_sha256: run.keyed?.request_sha256 ?? null,
    ...{ attempt: 0, event_characters: 0, first_event: null, trace: null },
    ...{ error: null, cancel_reason: null, interrupts: null },
  };
}

export function insertRun(sql: SqlStorage, row: RunRow) {
  insertRows(sql, `INSERT INTO runs (${Object.keys(row).join(", ")})`, [Object.values(row)]);
}

export function updateRun(sql: SqlStorage, row: RunRow) {
  const { status, updated_at, ended_at, attempt, event_characters, error, cancel_reason } = row;
  sql.exec(
    `UPDATE runs SET status = ?, updated_at = ?, ended_at = ?, attempt = ?, event_characters = ?,
       error = ?, cancel_reason = ?, trace = ?, started_at = ?, thread_snapshot = ?, interrupts = ?,
       first_event = ?
     WHERE run_id = ?`,
    ...[status, updated_at, ended_at, attempt, event_characters, error, cancel_reason],
    ...[row.trace, row.started_at, row.thread_snapshot, row.interrupts, row.first_event],
    row.run_id,
  );
}

export function kwargsName(run_id: string): string {
  return `kwargs ${run_id}`;
}

export function toStoredRun(row: RunRow, thread_id: string, kwargs: string): StoredRun {
  const { seq: _s, thread_snapshot: _b, webhook: _w, event_characters: _c, ...rest } = row;
  const { trace: _t, first_event: _f, ...fields } = rest;
  return {
    ...fields,
    thread_id,
    metadata: JSON.parse(row.metadata),
    kwargs: JSON.parse(kwargs),
    revision: JSON.parse(row.revision),
    created_by: JSON.parse(row.created_by),
    error: row.error === null ? null : JSON.parse(row.error),
    interrupts: row.interrupts === null ? null : JSON.parse(row.interrupts),
  };
}

export function toRecord(run: StoredRun): RunRecord {
  const { interrupts: _i, revision: _r, created_by: _s, due_at: _d, attempt: _a, ...shown } = run;
  const { started_at: _b, ended_at: _e, request_sha256: _k, ...record } = shown;
  return record;
}

/** Maximum of one list: the input of each run may be as large as a request. */
export const MAX_LIST_CHARACTERS = 20 * 1024 * 1024;

/** Reads the newest runs first. A single run always fits. */
export function listRecords(
  sql: SqlStorage,
  { status, limit, offset }: RunQuery,
  read: (row: RunRow) => StoredRun,
): RunRecord[] | null {
  const rows = sql.exec<RunRow>(
    `SELECT * FROM runs WHERE (?1 IS NULL OR status = ?1)
     ORDER BY created_at DESC, seq DESC LIMIT ?2 OFFSET ?3`,
    status ?? null,
    limit,
    offset,
  );
  const records: RunRecord[] = [];
  let characters = 0;
  for (const row of rows) {
    const record = toRecord(read(row));
    characters += JSON.stringify(record).length;
    if (characters > MAX_LIST_CHARACTERS && records.length > 0) return null;
    records.push(record);
  }
  return records;
}

export function newestRow(sql: SqlStorage): RunRow | null {
  const query = "SELECT * FROM runs ORDER BY created_at DESC, seq DESC LIMIT 1";
  return sql.exec<RunRow>(query).toArray()[0] ?? null;
}
