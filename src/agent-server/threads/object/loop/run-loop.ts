import type { Op, RunOutcome } from "../../../../isolate/contract.ts";
import type { TraceOp } from "../../../../isolate/trace-contract.ts";
import { allows } from "../../../../shared/filters.ts";
import type { LateCancellation, RunRefusal, RunRequest } from "../../contract/records.ts";
import {
  afterLoss,
  BULK_REASON,
  type CancelAction,
  chooseRuns,
  countLoss,
  type Loss,
} from "../../contract/run-decisions.ts";
import type { StoredRun } from "../../contract/stored-run.ts";
import { lostOutcome } from "../storage/outcomes.ts";
import type { ThreadStore } from "../storage/store.ts";
import { RetryTimer, RunAttempt } from "./attempt.ts";
import { AttemptDriver } from "./attempt-driver.ts";
import { isDeferrable, planRun, type RunPlan } from "./run-plan.ts";
import { Settling } from "./settling.ts";
import { assignThreadTo, repeatStart } from "./thread-assignment.ts";
import { TraceCollector } from "./trace-collector.ts";

/**
 * Accepts, starts, ends and cancels the runs of one thread. They run one at a time, in the order of their due times.
 * A run ends in one of three ways:
 * - `#end`: it has an outcome, or it was refused or lost too often.
 * - `#stop`: it is cancelled. A live run with durability `exit` has to send its last checkpoint first (`#endStop`).
 * - `#undo`: it is rolled back or deleted. Of its rows, only undelivered traces and webhooks remain.
 */
export class RunLoop {
  readonly #store: ThreadStore;
  /** Notifies the readers of these runs, or of all without a list. Readers of the whole thread are always notified. */
  readonly #onChange: (run_ids?: string[]) => void;
  /** Runs with changes that readers were not notified of. */
  readonly #touched = new Set<string>();
  readonly #traces: TraceCollector;
  readonly #driver: AttemptDriver;
  readonly #settling: Settling;
  readonly #retryTimer = new RetryTimer();
  #live: RunAttempt | null = null;

  constructor(
    env: Env,
    store: ThreadStore,
    onChange: (run_ids?: string[]) => void,
    onOrphans: (traces: TraceOp[]) => void,
  ) {
    this.#store = store;
    this.#onChange = onChange;
    this.#settling = new Settling(env, store, () => this.#onChange());
    this.#traces = new TraceCollector(env, store, { onOps: () => this.#onChange([]), onOrphans });
    this.#driver = new AttemptDriver(env, store, this.#traces, {
      isLive: (attempt) => this.#live === attempt,
      commit: (run_id, ops) => this.#commit(run_id, ops),
      end: (run, outcome, options) => this.#end(run, outcome, options),
      retry: (run, loss, reason) => this.#retry(run, loss, reason),
    });
  }

  /** Whether a run is live or waits for its retry, or the state of the thread is still to be read. */
  get isLive(): boolean {
    return this.#live !== null || this.#retryTimer.isPending || this.#settling.isUnfinished;
  }

  /** Whether `isLive` is false, and no isolate can still send traces. */
  get isQuiet(): boolean {
    return !this.isLive && !this.#traces.isCollecting;
  }

  /** Whether the run is not in flight, and no read of the thread's state is pending. `true` for a deleted thread. */
  isOver(run_id: string): boolean {
    if (!this.#store.exists) return true;
    return !this.#settling.isPending && !this.#store.runs.queue.isInFlight(run_id);
  }

  /**
   * Accepts a run, and starts it when it is due and the thread is free. `canDefer`: a run that starts at once may be
   * written later.
   * @returns the run, or why it is refused
   */
  accept(request: RunRequest, { canDefer } = { canDefer: false }): StoredRun | RunRefusal {
    const plan = planRun(this.#store, request);
    if (typeof plan === "string") return plan;
    const isDeferred = canDefer && this.#store.runs.queue.isEmpty && isDeferrable(request);
    const insert = () => this.#insert(request, plan);
    this.#restoringLive(() => {
      if (isDeferred) this.#store.defer(insert);
      else this.#store.transaction(insert);
    });
    this.#notify();
    return this.#store.runs.get(request.run_id) ?? "thread_missing";
  }

  #insert(request: RunRequest, { cancel, merged, reason }: RunPlan) {
    const { runs, thread } = this.#store;
    for (const { run_id, action } of cancel) this.#stop(run_id, action, reason);
    const isFree = runs.queue.isEmpty;
    runs.insert(request, merged, isFree ? thread.snapshot() : null);
    if (isFree) thread.assign({ metadata: merged.threadMetadata, config: merged.kwargs.config });
    this.#startNext();
    if (!runs.queue.running()) thread.writeStart();
  }

  /** Starts the next run that is due, unless a run is in progress. */
  advance() {
    this.#transaction(() => this.#startNext());
    this.#notify();
  }

  /** Recovers from a restart of the object, which has ended attempts and settlings. Also settles a new copy. */
  recover() {
    const run = repeatStart(this.#store);
    if (run?.is_stopping && !this.#live) this.#endStop(run.run_id, []);
    else if (run && !this.#live) this.#retry(run, this.#driver.lossOf(run), "its process ended");
    else if (!run) this.#settling.recover();
    this.advance();
    this.#traces.closeLost();
  }

  /**
   * Cancels runs. Their end is written when it returns, except that of a live run with durability `exit`, which has to
   * send its last checkpoint first.
   * @returns a promise that resolves when they have ended, and when a read of the state that followed has ended
   * @throws when storage refuses the write
   */
  cancel(run_ids: string[], action: CancelAction, reason: string | null): Promise<void> {
    this.#transaction(() => {
      for (const run_id of run_ids) this.#stop(run_id, action, reason);
      this.#startNext();
    });
    this.#notify();
    return this.#settle(this.#live?.stopped());
  }

  /** Applies cancellations of a whole deployment, which the directory returned for this thread. */
  cancelLate(cancellations: LateCancellation[]) {
    const { exists, runs, thread } = this.#store;
    for (const { filters, action, ...choice } of exists ? cancellations : []) {
      if (!allows(filters, thread.outline().metadata)) continue;
      const { inFlight } = chooseRuns(runs, { run_ids: null, ...choice });
      if (inFlight.length > 0) void this.cancel(inFlight, action, BULK_REASON);
    }
  }

  /** Deletes a run. A run in flight is rolled back, which deletes it. Resolves like `cancel`. */
  async deleteRun(run_id: string): Promise<void> {
    if (this.#store.runs.queue.isInFlight(run_id)) return this.cancel([run_id], "rollback", null);
    this.#store.transaction(() => {
      this.#undo(run_id);
      if (this.#store.runs.queue.isEmpty) this.#store.thread.markBusy();
    });
    await this.#settle();
  }

  async #settle(stopped?: Promise<void>) {
    await stopped;
    this.#settling.start();
    this.#notify();
    await this.#settling.pending;
  }

  // Ends the trace first: its state is in the row of the run, which is deleted.
  #undo(run_id: string) {
    this.#traces.closeNow(run_id);
    this.#store.undo(run_id);
  }

  /** Ends the live attempt and the traces of the runs in flight, before the thread is deleted. */
  abandonAll() {
    this.#abandon({ grace: false });
    this.#store.transaction(() => {
      for (const run_id of this.#store.runs.queue.inFlight()) this.#traces.closeNow(run_id);
    });
  }

  /** Ends the live attempt if storage has refused the row of its run. */
  abandonUnwritten() {
    const { exists, runs } = this.#store;
    const run_id = this.#live?.run.run_id;
    if (run_id && !(exists && runs.queue.isInFlight(run_id))) this.#abandon({ grace: false });
  }

  #transaction<T>(work: () => T): T {
    return this.#restoringLive(() => this.#store.transaction(work));
  }

  /**
   * Restores the live attempt when a write fails. An attempt that began in the write is cancelled, as its run has no
   * row. An attempt that ended in the write is live again.
   */
  #restoringLive<T>(write: () => T): T {
    const live = this.#live;
    try {
      return write();
    } catch (error) {
      if (this.#live !== live) this.#live?.cancel({ grace: false });
      this.#live = live;
      throw error;
    }
  }

  #abandon(options: { grace: boolean }) {
    this.#live?.cancel(options);
    this.#clearLive();
  }

  #notify() {
    const run_ids = [...this.#touched];
    this.#touched.clear();
    this.#onChange(run_ids);
  }

  #stop(run_id: string, action: CancelAction, reason: string | null) {
    this.#touched.add(run_id);
    const live = this.#live?.run.run_id === run_id ? this.#live : null;
    if (action === "rollback") {
      if (live) this.#abandon({ grace: true });
      return this.#undo(run_id);
    }
    if (reason) this.#store.runs.setCancelReason(run_id, reason);
    if (live?.run.kwargs.durability === "exit") return this.#stopAtExit(live);
    if (live) this.#abandon({ grace: true });
    this.#markInterrupted(run_id);
  }

  /** The isolate of a run with durability `exit` sends its last checkpoint when the run is aborted. */
  #stopAtExit(live: RunAttempt) {
    this.#store.runs.markStopping(live.run.run_id);
    live.stop(() => this.#live === live && this.#endStop(live.run.run_id, []));
  }

  #endStop(run_id: string, ops: Op[], hasWholeTrace = false) {
    this.#touched.add(run_id);
    this.#transaction(() => {
      this.#store.apply(run_id, ops);
      this.#markInterrupted(run_id);
      if (hasWholeTrace) this.#store.traces.close(run_id);
      this.#clearLive();
      this.#startNext();
    });
    this.#settling.start();
    this.#notify();
  }

  #clearLive() {
    this.#live?.endStop();
    this.#live = null;
  }

  #markInterrupted(run_id: string) {
    this.#touched.add(run_id);
    this.#store.runs.end(run_id, "interrupted");
    this.#store.enqueueWebhook(run_id, { hasResult: false });
  }

  #startNext() {
    if (this.#live || this.#store.runs.queue.running()) return;
    const next = this.#store.runs.queue.nextPending();
    if (next && next.due_at <= Date.now()) this.#start(next);
  }

  #start({ run_id }: StoredRun, inQuarantine = false) {
    const { runs, thread } = this.#store;
    runs.start(run_id, this.#driver.version);
    const run = runs.get(run_id);
    if (!run) return;
    this.#touched.add(run_id);
    if (run.attempt === 1) assignThreadTo(this.#store, run);
    this.#store.beginAttempt(run);
    thread.startRun(run.revision);
    this.#traces.open(run);
    const attempt = new RunAttempt(run, inQuarantine);
    this.#live = attempt;
    // Waits for the end of the transaction: the isolate reads rows that the transaction writes.
    queueMicrotask(() => this.#driver.drive(attempt));
  }

  #commit(run_id: string, ops: Op[]): number {
    this.#touched.add(run_id);
    const characters = this.#store.transaction(() => this.#store.apply(run_id, ops));
    this.#notify();
    return characters;
  }

  #retry(run: StoredRun, loss: Loss, reason: string) {
    if (this.#live?.isStopping) return this.#endStop(run.run_id, []);
    this.#live = null;
    const losses = countLoss(this.#store.runs.queue.losses(run.run_id), loss);
    const next = afterLoss({ attempt: run.attempt, losses }, loss);
    if (next === "end") this.#end(run, lostOutcome(run.attempt, loss, reason));
    else this.#retryTimer.start(run, losses, loss, () => this.#startAgain(run, losses, next));
    this.#notify();
  }

  #startAgain(run: StoredRun, losses: number, next: "retry" | "quarantine") {
    const { exists, runs } = this.#store;
    if (!exists || runs.queue.running()?.run_id !== run.run_id) return this.#notify();
    this.#transaction(() => {
      runs.queue.setLosses(run.run_id, losses);
      this.#start(run, next === "quarantine");
    });
    this.#notify();
  }

  #end(run: StoredRun, outcome: RunOutcome, { hasWholeTrace } = { hasWholeTrace: false }) {
    if (this.#live?.isStopping) return this.#endStop(run.run_id, outcome.ops, hasWholeTrace);
    this.#touched.add(run.run_id);
    this.#transaction(() => {
      this.#live = null;
      this.#store.endRun(run, outcome);
      if (hasWholeTrace) this.#store.traces.close(run.run_id);
      this.#startNext();
    });
    if (outcome.failure && !outcome.summary) this.#settling.refresh();
    this.#notify();
  }
}
