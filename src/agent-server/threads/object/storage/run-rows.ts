import { isLarger, jsonSizeOf } from "../../contract/json-text.ts";
import type { RunRecord, RunRequest, ThreadSnapshot } from "../../contract/records.ts";
import type { RunStatus } from "../../contract/run-decisions.ts";
import { MAX_LIST } from "../../contract/sizes.ts";
import type { StoredRun } from "../../contract/stored-run.ts";
import { type RunRow, readRuns } from "./run-table.ts";

export type RunQuery = { status?: RunStatus | undefined; limit: number; offset: number };

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
  const accepted_at = Date.now();
  const due_at = accepted_at + run.after_seconds * 1000;
  const created_at = new Date(due_at).toISOString();
  return {
    ...{ run_id, assistant_id, graph_id, multitask_strategy, kwargs, webhook },
    ...{ created_at, updated_at: created_at, accepted_at, due_at },
    ...{ started_at: null, ended_at: null },
    status: "pending",
    metadata: JSON.stringify(metadata),
    revision: JSON.stringify(run.revision),
    created_by: JSON.stringify(run.created_by),
    thread_snapshot: snapshot && JSON.stringify(snapshot),
    request_sha256: run.keyed?.request_sha256 ?? null,
    ...{
      attempt: 0,
      losses: 0,
      is_stopping: 0,
      version: null,
      event_characters: 0,
      first_event: null,
    },
    progress: 0,
    ...{ trace: null, error: null, cancel_reason: null, interrupts: null },
  };
}

export function kwargsName(run_id: string): string {
  return `kwargs ${run_id}`;
}

export function interruptsName(run_id: string): string {
  return `interrupts ${run_id}`;
}

/** Value of the column `interrupts` when their text is in `parts`. */
export const INTERRUPTS_IN_PARTS = "";

/** `texts`: JSON of what may be stored in parts. */
export function toStoredRun(
  row: RunRow,
  thread_id: string,
  texts: { kwargs: string; interrupts: string | null },
): StoredRun {
  const { seq: _s, thread_snapshot: _b, webhook: _w, event_characters: _c, ...rest } = row;
  const { trace: _t, first_event: _f, progress: _p, ...fields } = rest;
  return {
    ...fields,
    thread_id,
    metadata: JSON.parse(row.metadata),
    kwargs: JSON.parse(texts.kwargs),
    revision: JSON.parse(row.revision),
    created_by: JSON.parse(row.created_by),
    error: row.error === null ? null : JSON.parse(row.error),
    interrupts: texts.interrupts === null ? null : JSON.parse(texts.interrupts),
  };
}

export function toRecord(run: StoredRun): RunRecord {
  const { interrupts: _i, revision: _r, created_by: _s, due_at: _d, attempt: _a, ...shown } = run;
  const {
    losses: _l,
    is_stopping: _p,
    version: _v,
    started_at: _b,
    ended_at: _e,
    accepted_at: _at,
    request_sha256: _k,
    ...record
  } = shown;
  return record;
}

/** Reads the newest runs first. @returns `null` when they have more than `MAX_LIST`; a single run always fits */
export function listRecords(
  sql: SqlStorage,
  { status, limit, offset }: RunQuery,
  read: (row: RunRow) => StoredRun,
): RunRecord[] | null {
  const rows = readRuns(
    sql,
    `WHERE (?1 IS NULL OR status = ?1)
     ORDER BY created_at DESC, seq DESC LIMIT ?2 OFFSET ?3`,
    ...[status ?? null, limit, offset],
  );
  const records: RunRecord[] = [];
  const total = { characters: 0, containers: 0 };
  for (const row of rows) {
    // Records have no interrupts, which may be large.
    const record = toRecord(read({ ...row, interrupts: null }));
    const { characters, containers } = jsonSizeOf(JSON.stringify(record));
    total.characters += characters;
    total.containers += containers;
    if (isLarger(total, MAX_LIST) && records.length > 0) return null;
    records.push(record);
  }
  return records;
}

const LAST_STARTED = "WHERE started_at IS NOT NULL ORDER BY started_at DESC, seq DESC LIMIT 1";

export function lastStartedRow(sql: SqlStorage): RunRow | null {
  const [row] = readRuns(sql, LAST_STARTED);
  return row ?? null;
}

/** Reads no input of a run, as `lastStartedRow` does: each reader calls this between runs. */
export function lastStartedHasEvents(sql: SqlStorage): boolean | null {
  const select = `SELECT event_characters > 0 AS has_events FROM runs ${LAST_STARTED}`;
  const [row] = sql.exec<{ has_events: number }>(select).toArray();
  return row ? row.has_events === 1 : null;
}

export function newestRow(sql: SqlStorage): RunRow | null {
  const [row] = readRuns(sql, "ORDER BY created_at DESC, seq DESC LIMIT 1");
  return row ?? null;
}
