import { Buffer } from "node:buffer";
import { isFinal } from "../../contract/run-decisions.ts";
import { MAX_QUEUED_BYTES, MAX_QUEUED_RUNS } from "../../contract/sizes.ts";
import type { StoredRun } from "../../contract/stored-run.ts";
import type { Parts } from "../log/parts.ts";
import { INTERRUPTS_IN_PARTS, interruptsName, kwargsName, toStoredRun } from "./run-rows.ts";
import {
  insertRun,
  type RunRow,
  readRuns,
  toProgress,
  updateRun,
  withNewestBatch,
} from "./run-table.ts";
import type { StoredThread } from "./thread.ts";

/**
 * `since`: epoch milliseconds at which the first pending run is due, also in the future. `null` without pending runs.
 */
export type QueueState = { pending: number; running: number; since: number | null };

export const EMPTY_QUEUE: QueueState = { pending: 0, running: 0, since: null };

/** `kwargs_size`: UTF-8 bytes of the kwargs, which never change; `null` before they are counted. */
type QueuedRun = { row: RunRow; isNew: boolean; isChanged: boolean; kwargs_size: number | null };

const NEW = { isNew: true, isChanged: false, kwargs_size: null };

/**
 * The pending and running runs of a thread, cached. Their changes are written at the end of the transaction, like those
 * of the thread's row. A run that has ended leaves the queue at the end of its transaction.
 */
export class RunQueue {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  readonly #thread: StoredThread;
  #cached: Map<string, QueuedRun> | null = null;
  #lastSeq = 0;
  /** A new run that no transaction has written. */
  #unwritten: RunRow | null = null;
  /** The run that ended last, whose result is read next. */
  #ended: RunRow | null = null;

  constructor(sql: SqlStorage, parts: Parts, thread: StoredThread) {
    this.#sql = sql;
    this.#parts = parts;
    this.#thread = thread;
  }

  flush() {
    for (const [run_id, run] of this.#cached ?? []) {
      if (run.isNew) insertRun(this.#sql, run.row);
      else if (run.isChanged) updateRun(this.#sql, run.row);
      run.isNew = run.isChanged = false;
      if (!isFinal(run.row.status)) continue;
      this.#cached?.delete(run_id);
      this.#ended = run.row;
    }
  }

  /** Skips the first read: the tables are empty. */
  startEmpty() {
    this.#cached = new Map();
    this.#lastSeq = 0;
    this.#unwritten = null;
    this.#ended = null;
  }

  /**
   * Keeps the only run, which is new, for the next transaction: a failed transaction does not drop it. Its first batch
   * usually opens that transaction.
   * @returns its row
   */
  defer(): Readonly<RunRow> | null {
    const [run] = this.#runs().values();
    this.#unwritten = run ? { ...run.row } : null;
    return this.#unwritten;
  }

  /** Called when a transaction has succeeded. */
  endDeferral() {
    this.#unwritten = null;
  }

  /** Drops the cache after a failed transaction: it may hold what was not written. */
  clearCache() {
    this.#cached = null;
    this.#ended = null;
  }

  add(row: Omit<RunRow, "seq">) {
    const runs = this.#runs();
    this.#lastSeq += 1;
    runs.set(row.run_id, { row: { seq: this.#lastSeq, ...row }, ...NEW });
  }

  /** Returns the row of a run that is in flight or ended in this transaction. */
  row(run_id: string): Readonly<RunRow> | null {
    return this.#runs().get(run_id)?.row ?? null;
  }

  /** @returns `false` when the run is not in the queue */
  patch(run_id: string, patch: Partial<RunRow>): boolean {
    const run = this.#runs().get(run_id);
    if (!run) return false;
    Object.assign(run.row, patch);
    run.isChanged = true;
    return true;
  }

  /**
   * Changes fields that each batch stores beside its events. The row of the run is not written for them.
   * @returns `false` when the run is not in the queue
   */
  advance(run_id: string, patch: Partial<Pick<RunRow, "event_characters" | "trace">>): boolean {
    const run = this.#runs().get(run_id);
    if (!run) return false;
    Object.assign(run.row, patch, { progress: run.row.progress + 1 });
    return true;
  }

  /** Counts events of a run and returns the characters of all its events. */
  addEvents(run_id: string, first: number, characters: number): number {
    const row = this.row(run_id);
    if (!row) return 0;
    const event_characters = row.event_characters + characters;
    if (row.first_event === null) this.patch(run_id, { first_event: first });
    this.advance(run_id, { event_characters });
    return event_characters;
  }

  /** Returns the run's progress for the row of its next batch. @returns `null` when the run is not in the queue */
  progress(run_id: string): string | null {
    const row = this.row(run_id);
    return row && toProgress(row);
  }

  losses(run_id: string): number {
    return this.#runs().get(run_id)?.row.losses ?? 0;
  }

  setLosses(run_id: string, losses: number) {
    if (losses !== this.losses(run_id)) this.patch(run_id, { losses });
  }

  remove(run_id: string) {
    this.#cached?.delete(run_id);
    this.forgetEnded();
  }

  /** @returns `null` for any run but the one that ended last */
  ended(run_id: string): Readonly<RunRow> | null {
    return this.#ended?.run_id === run_id ? this.#ended : null;
  }

  /** Called when a statement changes the row of a run that has ended. */
  forgetEnded() {
    this.#ended = null;
  }

  get isEmpty(): boolean {
    return this.inFlight().length === 0;
  }

  /** Whether the limits of runs in flight, or of their inputs, are reached. */
  get isFull(): boolean {
    const rows = this.#unfinished();
    if (rows.length >= MAX_QUEUED_RUNS) return true;
    const size = rows.reduce((sum, { run_id }) => sum + this.#sizeOfKwargs(run_id), 0);
    return size >= MAX_QUEUED_BYTES;
  }

  #sizeOfKwargs(run_id: string): number {
    const run = this.#runs().get(run_id);
    if (!run) return 0;
    const { kwargs } = run.row;
    const size =
      run.kwargs_size ??
      (kwargs === null ? this.#parts.sizeOf(kwargsName(run_id)) : Buffer.byteLength(kwargs));
    run.kwargs_size = size;
    return size;
  }

  isInFlight(run_id: string): boolean {
    return this.inFlight().includes(run_id);
  }

  /** Returns the ids of the pending and running runs, by due time. */
  inFlight(): string[] {
    return this.#unfinished().map(({ run_id }) => run_id);
  }

  running(): StoredRun | null {
    const row = this.#unfinished().find(({ status }) => status === "running");
    return row ? this.toRun(row) : null;
  }

  /** Returns the pending run that is due first, other than `except`. Reads no other input: each may be large. */
  nextPending(except: string | null = null): StoredRun | null {
    const row = this.#pendingRows().find(({ run_id }) => run_id !== except);
    return row ? this.toRun(row) : null;
  }

  /** Returns the epoch milliseconds at which the next pending run is due. @returns `null` without pending runs */
  nextDue(): number | null {
    return this.#pendingRows()[0]?.due_at ?? null;
  }

  state(): QueueState {
    const pending = this.#pendingRows().length;
    const running = this.#unfinished().length - pending;
    return { pending, running, since: this.nextDue() };
  }

  #pendingRows(): RunRow[] {
    return this.#unfinished().filter(({ status }) => status === "pending");
  }

  #unfinished(): RunRow[] {
    return [...this.#runs().values()]
      .map(({ row }) => row)
      .filter(({ status }) => !isFinal(status))
      .sort((a, b) => a.due_at - b.due_at || a.seq - b.seq);
  }

  #runs(): Map<string, QueuedRun> {
    if (this.#cached) return this.#cached;
    const rows = [...readRuns(this.#sql, "WHERE status IN ('pending', 'running')")].map((row) =>
      withNewestBatch(this.#sql, row),
    );
    const { seq } = this.#sql
      .exec<{ seq: number }>("SELECT coalesce(max(seq), 0) AS seq FROM runs")
      .one();
    const runs: QueuedRun[] = rows.map((row) => ({ ...NEW, row, isNew: false }));
    if (this.#unwritten) runs.push({ row: { ...this.#unwritten }, ...NEW });
    this.#lastSeq = Math.max(seq, this.#unwritten?.seq ?? 0);
    this.#cached = new Map(runs.map((run) => [run.row.run_id, run]));
    return this.#cached;
  }

  toRun(row: RunRow): StoredRun {
    const { run_id, interrupts } = row;
    return toStoredRun(row, this.#thread.id, {
      kwargs: this.#parts.text(kwargsName(run_id), row.kwargs),
      interrupts:
        interrupts === INTERRUPTS_IN_PARTS
          ? this.#parts.text(interruptsName(run_id), null)
          : interrupts,
    });
  }
}
