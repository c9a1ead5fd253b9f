import { count, countUsage, observe } from "../../../../shared/metrics/metrics.ts";
import type { RunRecord, RunRequest, ThreadSnapshot } from "../../contract/records.ts";
import { isFinal, type RunStatus } from "../../contract/run-decisions.ts";
import type { StoredRun } from "../../contract/stored-run.ts";
import { type Parts, SHORT_BYTES } from "../log/parts.ts";
import { RunQueue } from "./run-queue.ts";
import {
  INTERRUPTS_IN_PARTS,
  interruptsName,
  kwargsName,
  lastStartedHasEvents,
  lastStartedRow,
  listRecords,
  newestRow,
  newRunRow,
  type RunQuery,
} from "./run-rows.ts";
import { type RunRow, readRuns } from "./run-table.ts";
import type { StoredThread } from "./thread.ts";

/** All runs of a thread. Those in flight are read and changed in the queue. */
export class Runs {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  readonly #thread: StoredThread;
  readonly queue: RunQueue;

  constructor(sql: SqlStorage, parts: Parts, thread: StoredThread) {
    this.#sql = sql;
    this.#parts = parts;
    this.#thread = thread;
    this.queue = new RunQueue(sql, parts, thread);
  }

  /** `snapshot`: the thread before the run, `null` when another run is in flight. */
  insert(
    run: RunRequest,
    { metadata, kwargs }: Pick<RunRecord, "metadata" | "kwargs">,
    snapshot: ThreadSnapshot | null,
  ) {
    const column = this.#parts.put(kwargsName(run.run_id), JSON.stringify(kwargs));
    this.queue.add(newRunRow(run, { metadata, webhook: kwargs.webhook, kwargs: column, snapshot }));
    countUsage(this.#thread.header().workspace_id, "runs", { runs_created: 1 });
  }

  get(run_id: string): StoredRun | null {
    const row = this.#rowOf(run_id);
    return row && this.queue.toRun(row);
  }

  /** @returns `null` when the runs have more than `MAX_LIST` */
  list(query: RunQuery): RunRecord[] | null {
    return listRecords(this.#sql, query, (row) => this.queue.toRun(row));
  }

  /** Returns the statuses of the newest runs, the oldest of them first. */
  recentStatuses(limit: number): RunStatus[] {
    const rows = this.#sql.exec<Pick<RunRow, "status">>(
      "SELECT status FROM runs ORDER BY seq DESC LIMIT ?",
      limit,
    );
    return [...rows].map(({ status }) => status).reverse();
  }

  /** Whether a run was created with an idempotency key. */
  hasKeyed(): boolean {
    const keyed = this.#sql.exec("SELECT 1 FROM runs WHERE request_sha256 IS NOT NULL LIMIT 1");
    return keyed.toArray().length > 0;
  }

  ids(): string[] {
    const rows = this.#sql.exec<Pick<RunRow, "run_id">>("SELECT run_id FROM runs");
    return rows.toArray().map(({ run_id }) => run_id);
  }

  newest(): StoredRun | null {
    const row = newestRow(this.#sql);
    return row && this.queue.toRun(row);
  }

  /** Returns the run that started last, without its interrupts. */
  lastStarted(): StoredRun | null {
    const row = lastStartedRow(this.#sql);
    return row && this.queue.toRun({ ...row, interrupts: null });
  }

  /** @returns whether the run that started last has events, `null` when no run has started */
  lastStartedHasEvents(): boolean | null {
    return lastStartedHasEvents(this.#sql);
  }

  start(run_id: string, version: string) {
    const row = this.queue.row(run_id);
    if (!row) return;
    const started_at = row.started_at ?? Date.now();
    if (row.started_at === null) {
      count("heddle_runs_started_total", {});
      observe("heddle_run_queue_wait_seconds", {}, Math.max(0, started_at - row.due_at) / 1000);
    } else count("heddle_runs_restarted_total", {});
    this.#change(run_id, { status: "running", attempt: row.attempt + 1, started_at, version });
  }

  /** `interrupts`: JSON of the pending interrupts. */
  end(
    run_id: string,
    status: RunStatus,
    error: RunRecord["error"] = null,
    interrupts: string | null = null,
  ) {
    const ended_at = Date.now();
    // After a restart, `repeatStart` repeats the unwritten start of a running run only.
    this.#thread.writeStart();
    this.#countEnd(this.queue.row(run_id)?.started_at ?? null, status, ended_at);
    const put = (text: string) => this.#parts.put(interruptsName(run_id), text, SHORT_BYTES);
    const stored = interrupts && (put(interrupts) ?? INTERRUPTS_IN_PARTS);
    const over = { status, ended_at, thread_snapshot: null, interrupts: stored };
    this.#change(run_id, { ...over, error: error && JSON.stringify(error) });
  }

  /** Returns the webhook of a run. @returns `null` without one, and for a run that ended before this transaction */
  webhook(run_id: string): string | null {
    return this.queue.row(run_id)?.webhook ?? null;
  }

  setThreadSnapshot(run_id: string, snapshot: ThreadSnapshot | null) {
    this.#change(run_id, { thread_snapshot: snapshot && JSON.stringify(snapshot) });
  }

  /** @returns `null` when the run did not change the thread, or has ended */
  threadSnapshot(run_id: string): ThreadSnapshot | null {
    const text = this.queue.row(run_id)?.thread_snapshot ?? null;
    return text === null ? null : JSON.parse(text);
  }

  setCancelReason(run_id: string, cancel_reason: string) {
    this.#change(run_id, { cancel_reason });
  }

  markStopping(run_id: string) {
    this.#change(run_id, { is_stopping: 1 });
  }

  /** Returns the id of the run's first event, also after its deletion. @returns `null` when the run never had one */
  firstEvent(run_id: string): number | null {
    return this.#rowOf(run_id)?.first_event ?? null;
  }

  trace(run_id: string): string | null {
    return this.#rowOf(run_id)?.trace ?? null;
  }

  /** Changes ended runs too: isolates send the rest of a trace after the outcome. */
  setTrace(run_id: string, trace: string | null) {
    if (this.queue.patch(run_id, { trace })) {
      // The row of the run must be newer than its last batch, whose trace `withNewestBatch` would return.
      this.queue.advance(run_id, {});
      return;
    }
    this.queue.forgetEnded();
    this.#sql.exec("UPDATE runs SET trace = ? WHERE run_id = ?", trace, run_id);
  }

  /** Returns the ids of ended runs whose trace is open. */
  withOpenTrace(): string[] {
    return this.#sql
      .exec<RunRow>("SELECT run_id, status FROM runs WHERE trace IS NOT NULL")
      .toArray()
      .flatMap(({ run_id, status }) => (isFinal(status) ? [run_id] : []));
  }

  delete(run_id: string) {
    const queued = this.queue.row(run_id);
    if (queued && !isFinal(queued.status)) this.#countEnd(queued.started_at, "deleted", Date.now());
    this.queue.remove(run_id);
    this.#parts.delete(kwargsName(run_id));
    this.#parts.delete(interruptsName(run_id));
    this.#sql.exec("DELETE FROM runs WHERE run_id = ?", run_id);
  }

  /** @returns epoch milliseconds, `null` for a run in flight, 0 for a run that does not exist */
  endedAt(run_id: string): number | null {
    if (this.queue.isInFlight(run_id)) return null;
    const [row] = this.#sql
      .exec<Pick<RunRow, "ended_at">>("SELECT ended_at FROM runs WHERE run_id = ?", run_id)
      .toArray();
    return row?.ended_at ?? 0;
  }

  markEventsDeleted(run_id: string) {
    this.queue.forgetEnded();
    this.#sql.exec("UPDATE runs SET event_characters = 0 WHERE run_id = ?", run_id);
  }

  #rowOf(run_id: string): RunRow | null {
    const known = this.queue.row(run_id) ?? this.queue.ended(run_id);
    if (known) return known;
    const [row] = readRuns(this.#sql, "WHERE run_id = ?", run_id);
    return row ?? null;
  }

  #change(run_id: string, patch: Partial<RunRow>) {
    this.queue.patch(run_id, { ...patch, updated_at: new Date().toISOString() });
  }

  #countEnd(started_at: number | null, status: RunStatus | "deleted", ended_at: number) {
    count("heddle_runs_ended_total", { status });
    if (started_at === null) return;
    const seconds = (ended_at - started_at) / 1000;
    observe("heddle_run_duration_seconds", { status }, seconds);
    countUsage(this.#thread.header().workspace_id, "runs", { runs: 1, run_seconds: seconds });
  }
}
