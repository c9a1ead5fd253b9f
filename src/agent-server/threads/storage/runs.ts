import type { Parts } from "../log/parts.ts";
import type { RunRecord, RunRequest, ThreadSnapshot } from "../records.ts";
import { isFinal, type RunStatus } from "../runs.ts";
import {
  insertRun,
  kwargsName,
  listRecords,
  newestRow,
  type RunQuery,
  type RunRow,
  type StoredRun,
  toStoredRun,
  updateRun,
} from "./run-rows.ts";
import type { StoredThread } from "./thread.ts";

/** `since`: time at which the oldest pending run became due, in epoch milliseconds. */
export type QueueState = { pending: number; running: number; since: number | null };

export const EMPTY_QUEUE: QueueState = { pending: 0, running: 0, since: null };

type OpenRun = { row: RunRow; isNew: boolean; isChanged: boolean };

/**
 * The runs of the thread. Pending and running ones are cached; their changes are written at the end of the
 * transaction, like those of the thread's row.
 */
export class Runs {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  readonly #thread: StoredThread;
  #open: Map<string, OpenRun> | null = null;
  #lastSeq = 0;

  constructor(sql: SqlStorage, parts: Parts, thread: StoredThread) {
    this.#sql = sql;
    this.#parts = parts;
    this.#thread = thread;
  }

  /** `snapshot`: the thread before the run, `null` when another run is in flight. */
  insert(
    run: RunRequest,
    { metadata, kwargs }: Pick<RunRecord, "metadata" | "kwargs">,
    snapshot: ThreadSnapshot | null,
  ) {
    const due_at = Date.now() + run.after_seconds * 1000;
    const created_at = new Date(due_at).toISOString();
    const open = this.#openRuns();
    this.#lastSeq += 1;
    const row: RunRow = {
      seq: this.#lastSeq,
      run_id: run.run_id,
      assistant_id: run.assistant_id,
      graph_id: run.graph_id,
      status: "pending",
      multitask_strategy: run.multitask_strategy,
      metadata: JSON.stringify(metadata),
      kwargs: this.#parts.put(kwargsName(run.run_id), JSON.stringify(kwargs)),
      revision: JSON.stringify(run.revision),
      created_at,
      updated_at: created_at,
      due_at,
      ended_at: null,
      attempt: 0,
      event_characters: 0,
      error: null,
      cancel_reason: null,
      created_by: JSON.stringify(run.created_by),
      trace: null,
      started_at: null,
      thread_snapshot: snapshot && JSON.stringify(snapshot),
      webhook: kwargs.webhook,
      interrupts: null,
      first_event: null,
      request_sha256: run.keyed?.request_sha256 ?? null,
    };
    open.set(run.run_id, { row, isNew: true, isChanged: false });
  }

  flush() {
    for (const [run_id, open] of this.#open ?? []) {
      if (open.isNew) insertRun(this.#sql, open.row);
      else if (open.isChanged) updateRun(this.#sql, open.row);
      open.isNew = open.isChanged = false;
      if (isFinal(open.row.status)) this.#open?.delete(run_id);
    }
  }

  /** Skips the first read: the tables are new. */
  startEmpty() {
    this.#open = new Map();
    this.#lastSeq = 0;
  }

  /** Drops the cache after a failed transaction: it may hold what was not written. */
  clearCache() {
    this.#open = null;
  }

  get(run_id: string): StoredRun | null {
    const row = this.#rowOf(run_id);
    return row && this.#toRun(row);
  }

  /** @returns `"too_large"` when the runs have more than `MAX_LIST_CHARACTERS` */
  list(query: RunQuery): RunRecord[] | "too_large" {
    return listRecords(this.#sql, query, (row) => this.#toRun(row));
  }

  /** Whether a run was created with an idempotency key. */
  hasKeyed(): boolean {
    const keyed = this.#sql.exec("SELECT 1 FROM runs WHERE request_sha256 IS NOT NULL LIMIT 1");
    return keyed.toArray().length > 0;
  }

  newest(): StoredRun | null {
    const row = newestRow(this.#sql);
    return row && this.#toRun(row);
  }

  /** Returns the newest run that has started. */
  newestStarted(): { hasEvents: boolean } | null {
    const [newest] = this.#sql
      .exec<Pick<RunRow, "event_characters">>(
        "SELECT event_characters FROM runs WHERE started_at IS NOT NULL ORDER BY seq DESC LIMIT 1",
      )
      .toArray();
    return newest ? { hasEvents: newest.event_characters > 0 } : null;
  }

  isInFlight(run_id: string): boolean {
    return this.inFlight().includes(run_id);
  }

  /** Pending and running runs, by due time. */
  inFlight(): string[] {
    return this.#unfinished().map(({ run_id }) => run_id);
  }

  running(): StoredRun | null {
    const row = this.#unfinished().find(({ status }) => status === "running");
    return row ? this.#toRun(row) : null;
  }

  nextPending(): StoredRun | null {
    const row = this.#unfinished().find(({ status }) => status === "pending");
    return row ? this.#toRun(row) : null;
  }

  queue(): QueueState {
    const rows = this.#unfinished();
    const pending = rows.filter(({ status }) => status === "pending");
    return {
      pending: pending.length,
      running: rows.length - pending.length,
      since: pending[0]?.due_at ?? null,
    };
  }

  /** Pending runs, by due time. */
  pending(): StoredRun[] {
    const rows = this.#unfinished().filter(({ status }) => status === "pending");
    return rows.map((row) => this.#toRun(row));
  }

  /** Time at which the next pending run is due, in epoch milliseconds. */
  nextDue(): number | null {
    return this.#unfinished().find(({ status }) => status === "pending")?.due_at ?? null;
  }

  start(run_id: string) {
    const row = this.#openRuns().get(run_id)?.row;
    if (!row) return;
    const started_at = row.started_at ?? Date.now();
    this.#change(run_id, { status: "running", attempt: row.attempt + 1, started_at });
  }

  /** `interrupts`: JSON of the pending interrupts. */
  end(
    run_id: string,
    status: RunStatus,
    error: RunRecord["error"] = null,
    interrupts: string | null = null,
  ) {
    const ended_at = Date.now();
    const over = { status, ended_at, thread_snapshot: null, interrupts };
    this.#change(run_id, { ...over, error: error && JSON.stringify(error) });
  }

  /** Returns the webhook of a run that is in flight or ended in this transaction. */
  webhook(run_id: string): string | null {
    return this.#openRuns().get(run_id)?.row.webhook ?? null;
  }

  setThreadSnapshot(run_id: string, snapshot: ThreadSnapshot) {
    this.#change(run_id, { thread_snapshot: JSON.stringify(snapshot) });
  }

  /** @returns `null` when the run did not change the thread, or has ended */
  threadSnapshot(run_id: string): ThreadSnapshot | null {
    const text = this.#openRuns().get(run_id)?.row.thread_snapshot ?? null;
    return text === null ? null : JSON.parse(text);
  }

  setCancelReason(run_id: string, cancel_reason: string) {
    this.#change(run_id, { cancel_reason });
  }

  /** Counts events of a run and returns the characters of all its events. */
  addEvents(run_id: string, first: number, characters: number): number {
    const open = this.#openRuns().get(run_id);
    if (!open) return 0;
    open.row.first_event ??= first;
    open.row.event_characters += characters;
    open.isChanged = true;
    return open.row.event_characters;
  }

  /** @returns `null` when the run has no events */
  firstEvent(run_id: string): number | null {
    return this.#rowOf(run_id)?.first_event ?? null;
  }

  trace(run_id: string): string | null {
    return this.#rowOf(run_id)?.trace ?? null;
  }

  /** Ended runs too: isolates send the rest of a trace after the outcome. */
  setTrace(run_id: string, trace: string | null) {
    const open = this.#openRuns().get(run_id);
    if (!open) this.#sql.exec("UPDATE runs SET trace = ? WHERE run_id = ?", trace, run_id);
    else Object.assign(open, { isChanged: true }).row.trace = trace;
  }

  /** Ended runs whose trace is open. */
  withOpenTrace(): string[] {
    return this.#sql
      .exec<RunRow>("SELECT run_id, status FROM runs WHERE trace IS NOT NULL")
      .toArray()
      .flatMap(({ run_id, status }) => (isFinal(status) ? [run_id] : []));
  }

  delete(run_id: string) {
    this.#open?.delete(run_id);
    this.#parts.delete(kwargsName(run_id));
    this.#sql.exec("DELETE FROM runs WHERE run_id = ?", run_id);
  }

  /** Runs that ended before `time` and still have events. */
  endedBefore(time: number): string[] {
    return this.#sql
      .exec<{ run_id: string }>(
        "SELECT run_id FROM runs WHERE ended_at < ? AND event_characters > 0 LIMIT 100",
        time,
      )
      .toArray()
      .map(({ run_id }) => run_id);
  }

  markEventsDeleted(run_id: string) {
    this.#sql.exec("UPDATE runs SET event_characters = 0 WHERE run_id = ?", run_id);
  }

  #rowOf(run_id: string): RunRow | null {
    const open = this.#openRuns().get(run_id);
    if (open) return open.row;
    const [row] = this.#sql.exec<RunRow>("SELECT * FROM runs WHERE run_id = ?", run_id).toArray();
    return row ?? null;
  }

  #change(run_id: string, patch: Partial<RunRow>) {
    const open = this.#openRuns().get(run_id);
    if (!open) return;
    Object.assign(open.row, patch, { updated_at: new Date().toISOString() });
    open.isChanged = true;
  }

  #unfinished(): RunRow[] {
    return [...this.#openRuns().values()]
      .map(({ row }) => row)
      .filter(({ status }) => !isFinal(status))
      .sort((a, b) => a.due_at - b.due_at || a.seq - b.seq);
  }

  #openRuns(): Map<string, OpenRun> {
    if (this.#open) return this.#open;
    const rows = this.#sql
      .exec<RunRow>("SELECT * FROM runs WHERE status IN ('pending', 'running')")
      .toArray();
    const { seq } = this.#sql
      .exec<{ seq: number }>("SELECT coalesce(max(seq), 0) AS seq FROM runs")
      .one();
    this.#lastSeq = seq;
    this.#open = new Map(rows.map((row) => [row.run_id, { row, isNew: false, isChanged: false }]));
    return this.#open;
  }

  #toRun(row: RunRow): StoredRun {
    return toStoredRun(row, this.#thread.id, this.#parts.text(kwargsName(row.run_id), row.kwargs));
  }
}
