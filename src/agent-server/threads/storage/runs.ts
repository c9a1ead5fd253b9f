import type { Parts } from "../log/parts.ts";
import type { RunRecord, RunRequest, ThreadBefore } from "../records.ts";
import { isFinal, type RunStatus } from "../runs.ts";
import {
  insertRun,
  kwargsName,
  listRecords,
  newestRow,
  type Row,
  type RunQuery,
  type StoredRun,
  toStoredRun,
  updateRun,
} from "./run-rows.ts";
import type { Thread } from "./thread.ts";

/** `since`: when the run that has been waiting longest became due, in epoch milliseconds. */
export type QueueState = { pending: number; running: number; since: number | null };

export const EMPTY_QUEUE: QueueState = { pending: 0, running: 0, since: null };

type Open = { row: Row; isNew: boolean; isChanged: boolean };

/**
 * The runs of the thread. Those that are not over are read once and kept in memory; changes gather
 * until the end of their transaction, like those of the thread's row.
 */
export class Runs {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  readonly #thread: Thread;
  #open: Map<string, Open> | null = null;
  #last_seq = 0;

  constructor(sql: SqlStorage, parts: Parts, thread: Thread) {
    this.#sql = sql;
    this.#parts = parts;
    this.#thread = thread;
  }

  /** `before` is how the thread stood which the run took; null: another run had it. */
  insert(
    run: RunRequest,
    { metadata, kwargs }: Pick<RunRecord, "metadata" | "kwargs">,
    before: ThreadBefore | null,
  ) {
    const due_at = Date.now() + run.after_seconds * 1000;
    const created_at = new Date(due_at).toISOString();
    const open = this.#opened();
    this.#last_seq += 1;
    const row: Row = {
      seq: this.#last_seq,
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
      thread_before: before && JSON.stringify(before),
      webhook: kwargs.webhook,
      interrupts: null,
      first_event: null,
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

  /** The tables are new: there is nothing to read. */
  startEmpty() {
    this.#open = new Map();
    this.#last_seq = 0;
  }

  /** What is remembered may not have been written: read it again. */
  forget() {
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

  newest(): StoredRun | null {
    const row = newestRow(this.#sql);
    return row && this.#toRun(row);
  }

  /** Of all that ever began, the one that was created last, and whether its events are kept. */
  newestStarted(): { hasEvents: boolean } | null {
    const [newest] = this.#sql
      .exec<Pick<Row, "event_characters">>(
        "SELECT event_characters FROM runs WHERE started_at IS NOT NULL ORDER BY seq DESC LIMIT 1",
      )
      .toArray();
    return newest ? { hasEvents: newest.event_characters > 0 } : null;
  }

  /** Whether the run is pending or running. */
  isInFlight(run_id: string): boolean {
    return this.inFlight().includes(run_id);
  }

  /** Pending and running, in the order in which they are due. */
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

  /** In the order in which they are due. */
  pending(): StoredRun[] {
    const rows = this.#unfinished().filter(({ status }) => status === "pending");
    return rows.map((row) => this.#toRun(row));
  }

  /** When the next pending run is due, in epoch milliseconds. */
  nextDue(): number | null {
    return this.#unfinished().find(({ status }) => status === "pending")?.due_at ?? null;
  }

  start(run_id: string) {
    const row = this.#opened().get(run_id)?.row;
    if (!row) return;
    const started_at = row.started_at ?? Date.now();
    this.#change(run_id, { status: "running", attempt: row.attempt + 1, started_at });
  }

  /** `interrupts`: what a run that stopped for an answer asks. */
  end(
    run_id: string,
    status: RunStatus,
    error: RunRecord["error"] = null,
    interrupts: string | null = null,
  ) {
    const ended_at = Date.now();
    const over = { status, ended_at, thread_before: null, interrupts };
    this.#change(run_id, { ...over, error: error && JSON.stringify(error) });
  }

  /** Of a run that is not over, or was until this transaction. */
  webhook(run_id: string): string | null {
    return this.#opened().get(run_id)?.row.webhook ?? null;
  }

  setThreadBefore(run_id: string, before: ThreadBefore) {
    this.#change(run_id, { thread_before: JSON.stringify(before) });
  }

  /** How the thread stood before this run took it; null where another run had it, or this one is over. */
  threadBefore(run_id: string): ThreadBefore | null {
    const text = this.#opened().get(run_id)?.row.thread_before ?? null;
    return text === null ? null : JSON.parse(text);
  }

  setCancelReason(run_id: string, cancel_reason: string) {
    this.#change(run_id, { cancel_reason });
  }

  /** Adds to what a run has said so far and returns the sum, in characters. */
  addEvents(run_id: string, first: number, characters: number): number {
    const open = this.#opened().get(run_id);
    if (!open) return 0;
    open.row.first_event ??= first;
    open.row.event_characters += characters;
    open.isChanged = true;
    return open.row.event_characters;
  }

  /** Where the events of a run begin; null: it has said nothing yet. */
  firstEvent(run_id: string): number | null {
    return this.#rowOf(run_id)?.first_event ?? null;
  }

  trace(run_id: string): string | null {
    return this.#rowOf(run_id)?.trace ?? null;
  }

  /** Also of a run that is over: its isolate tells the rest of its trace behind its end. */
  setTrace(run_id: string, trace: string | null) {
    const open = this.#opened().get(run_id);
    if (!open) this.#sql.exec("UPDATE runs SET trace = ? WHERE run_id = ?", trace, run_id);
    else Object.assign(open, { isChanged: true }).row.trace = trace;
  }

  /** Runs that are over, and whose trace is not. */
  withOpenTrace(): string[] {
    return this.#sql
      .exec<Row>("SELECT run_id, status FROM runs WHERE trace IS NOT NULL")
      .toArray()
      .flatMap(({ run_id, status }) => (isFinal(status) ? [run_id] : []));
  }

  delete(run_id: string) {
    this.#open?.delete(run_id);
    this.#parts.delete(kwargsName(run_id));
    this.#sql.exec("DELETE FROM runs WHERE run_id = ?", run_id);
  }

  /** Runs that ended before `time` and whose events are still kept. */
  endedBefore(time: number): string[] {
    return this.#sql
      .exec<{ run_id: string }>(
        "SELECT run_id FROM runs WHERE ended_at < ? AND event_characters > 0 LIMIT 100",
        time,
      )
      .toArray()
      .map(({ run_id }) => run_id);
  }

  forgetEvents(run_id: string) {
    this.#sql.exec("UPDATE runs SET event_characters = 0 WHERE run_id = ?", run_id);
  }

  #rowOf(run_id: string): Row | null {
    const open = this.#opened().get(run_id);
    if (open) return open.row;
    const [row] = this.#sql.exec<Row>("SELECT * FROM runs WHERE run_id = ?", run_id).toArray();
    return row ?? null;
  }

  #change(run_id: string, patch: Partial<Row>) {
    const open = this.#opened().get(run_id);
    if (!open) return;
    Object.assign(open.row, patch, { updated_at: new Date().toISOString() });
    open.isChanged = true;
  }

  #unfinished(): Row[] {
    return [...this.#opened().values()]
      .map(({ row }) => row)
      .filter(({ status }) => !isFinal(status))
      .sort((a, b) => a.due_at - b.due_at || a.seq - b.seq);
  }

  #opened(): Map<string, Open> {
    if (this.#open) return this.#open;
    const rows = this.#sql
      .exec<Row>("SELECT * FROM runs WHERE status IN ('pending', 'running')")
      .toArray();
    const { seq } = this.#sql
      .exec<{ seq: number }>("SELECT coalesce(max(seq), 0) AS seq FROM runs")
      .one();
    this.#last_seq = seq;
    this.#open = new Map(rows.map((row) => [row.run_id, { row, isNew: false, isChanged: false }]));
    return this.#open;
  }

  #toRun(row: Row): StoredRun {
    return toStoredRun(row, this.#thread.id, this.#parts.text(kwargsName(row.run_id), row.kwargs));
  }
}
