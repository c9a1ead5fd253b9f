import type { RunOutcome, TraceOp } from "../../../isolate/contract.ts";
import { AppError } from "../../../shared/errors.ts";
import { log } from "../../../shared/log.ts";
import { release } from "../../../shared/rpc.ts";
import { parseOutcome } from "../boundary/answers.ts";
import { EVENT_LIMIT, MAX_EVENT_CHARACTERS } from "../boundary/limits.ts";
import { parseOps } from "../boundary/ops.ts";
import { failed, interruptsOf, messageOf, statusOf } from "../outcomes.ts";
import type { RunRefusal, RunRequest } from "../records.ts";
import {
  afterLoss,
  type CancelAction,
  decideMultitask,
  type Loss,
  lossMessage,
  threadStatusAfter,
} from "../runs.ts";
import type { StoredRun } from "../storage/run-rows.ts";
import type { ThreadStore } from "../storage/store.ts";
import { callAgent } from "./agent.ts";
import { applierFor, RunAttempt, ThreadHost, toRunCall } from "./attempt.ts";
import { feedbackOps } from "./feedback-event.ts";
import { isKeepable, mergeRun, outlineWithout } from "./merge.ts";
import { inQuarantine, LostAloneError } from "./quarantine.ts";
import { authenticateRun, refusalOfPrincipal } from "./run-principal.ts";
import { Settling } from "./settling.ts";
import { TraceCollector } from "./trace-collector.ts";

/** Accepts, starts, ends and cancels the runs of one thread: one at a time, in the order received. */
export class RunLoop {
  readonly #env: Env;
  readonly #store: ThreadStore;
  readonly #onChange: (run_ids?: string[]) => void;
  /** Runs with changes that readers were not notified of. */
  readonly #touched = new Set<string>();
  readonly #traces: TraceCollector;
  #live: RunAttempt | null = null;
  readonly #settling: Settling;

  constructor(
    env: Env,
    store: ThreadStore,
    onChange: (run_ids?: string[]) => void,
    onOrphans: (traces: TraceOp[]) => void,
  ) {
    this.#env = env;
    this.#store = store;
    this.#onChange = onChange;
    this.#settling = new Settling(env, store, () => this.#onChange());
    this.#traces = new TraceCollector(env, store, { onOps: () => this.#onChange([]), onOrphans });
  }

  get isLive(): boolean {
    return this.#live !== null || this.#settling.pending !== undefined;
  }

  /** Whether the run, its thread and their state are final. */
  isOver(run_id: string): boolean {
    if (!this.#store.exists) return true;
    return this.#settling.pending === undefined && !this.#store.runs.isInFlight(run_id);
  }

  accept(request: RunRequest): StoredRun | RunRefusal {
    const { runs, thread } = this.#store;
    const verdict = decideMultitask(runs.inFlight(), request.multitask_strategy);
    if (!verdict.accept) return "busy";
    const merged = mergeRun(request, outlineWithout(this.#store, verdict.cancel));
    if (!isKeepable(merged.metadata, merged.kwargs.config)) return "too_large";
    const reason = `multitask: run ${request.run_id} came with multitask_strategy "${request.multitask_strategy}"`;
    this.#store.transaction(() => {
      for (const { run_id, action } of verdict.cancel) this.#stop(run_id, action, reason);
      const isFree = runs.inFlight().length === 0;
      runs.insert(request, merged, isFree ? thread.snapshot() : null);
      if (isFree) thread.assign({ metadata: merged.threadMetadata, config: merged.kwargs.config });
      this.#startNext();
    });
    this.#notify();
    return runs.get(request.run_id) ?? "thread_missing";
  }

  /** Starts the next run that is due. */
  advance() {
    this.#store.transaction(() => this.#startNext());
    this.#notify();
  }

  /** Recovers from a restart, which ends attempts and settlings. */
  recover() {
    const running = this.#store.runs.running();
    if (running && !this.#live) this.#retry(running, "restart", "its process ended");
    else if (!running && this.#store.thread.outline().status === "busy") this.#settling.start();
    this.advance();
    this.#traces.closeLost();
  }

  /** Ends runs at once and resolves when the thread is settled. */
  async cancel(run_ids: string[], action: CancelAction, reason: string | null): Promise<void> {
    this.#store.transaction(() => {
      for (const run_id of run_ids) this.#stop(run_id, action, reason);
      this.#startNext();
    });
    this.#settling.start();
    this.#notify();
    await this.#settling.pending;
  }

  /** Deletes a run and all its effects on the thread. */
  async deleteRun(run_id: string): Promise<void> {
    if (this.#store.runs.isInFlight(run_id)) return this.cancel([run_id], "rollback", null);
    this.#store.transaction(() => {
      this.#undo(run_id);
      if (this.#store.runs.inFlight().length === 0) this.#store.thread.markBusy();
    });
    this.#settling.start();
    this.#notify();
    await this.#settling.pending;
  }

  // Ends the trace first: the run's row is its only record.
  #undo(run_id: string) {
    this.#traces.closeNow(run_id);
    this.#store.undo(run_id);
  }

  /** Ends the live attempt and all traces, before the thread is deleted. */
  abandonAll() {
    this.#abandon({ grace: false });
    this.#store.transaction(() => {
      for (const run_id of this.#store.runs.inFlight()) this.#traces.closeNow(run_id);
    });
  }

  #abandon(options: { grace: boolean }) {
    this.#live?.cancel(options);
    this.#live = null;
  }

  #notify() {
    const run_ids = [...this.#touched];
    this.#touched.clear();
    this.#onChange(run_ids);
  }

  #stop(run_id: string, action: CancelAction, reason: string | null) {
    this.#touched.add(run_id);
    if (this.#live?.run.run_id === run_id) this.#abandon({ grace: true });
    if (action === "rollback") return this.#undo(run_id);
    if (reason) this.#store.runs.setCancelReason(run_id, reason);
    this.#store.runs.end(run_id, "interrupted");
    this.#store.enqueueWebhook(run_id, { hasResult: false });
  }

  #startNext() {
    if (this.#live || this.#store.runs.running()) return;
    const next = this.#store.runs.nextPending();
    if (next && next.due_at <= Date.now()) this.#start(next);
  }

  #start({ run_id }: StoredRun, isSuspect = false) {
    const { runs, thread } = this.#store;
    runs.start(run_id);
    const run = runs.get(run_id);
    if (!run) return;
    this.#emit(run, "metadata", { run_id, attempt: run.attempt });
    thread.startRun(run.revision);
    this.#traces.open(run);
    const attempt = new RunAttempt(run, isSuspect);
    this.#live = attempt;
    // Waits for the end of the transaction: the isolate reads what it writes.
    queueMicrotask(() => this.#drive(attempt));
  }

  #emit({ run_id }: StoredRun, event: string, data: unknown) {
    this.#touched.add(run_id);
    this.#store.apply(run_id, [{ op: "event", event, data: JSON.stringify(data) }]);
  }

  async #drive(attempt: RunAttempt) {
    const { run } = attempt;
    this.#traces.track(attempt);
    const call = (quarantine?: string) => this.#call(attempt, quarantine);
    try {
      const refusal = await refusalOfPrincipal(this.#env, attempt, this.#store.thread.outline());
      if (refusal && this.#live === attempt) return this.#end(run, refusal);
      const { workspace_id } = this.#store.thread.header();
      const name = `${run.run_id}:${run.attempt}`;
      await (attempt.isSuspect ? inQuarantine(workspace_id, name, call) : call());
    } catch (error) {
      log.warn("attempt_lost", { run_id: run.run_id, attempt: run.attempt, error: String(error) });
      const loss = error instanceof LostAloneError ? "alone" : "isolate";
      if (this.#live === attempt) this.#retry(run, loss, messageOf(error));
    } finally {
      attempt.close();
      this.#traces.release(attempt);
    }
  }

  async #call(attempt: RunAttempt, quarantine: string | undefined) {
    // The run may be cancelled during the wait for a turn.
    if (this.#live !== attempt) return;
    const { run } = attempt;
    const revision = quarantine === undefined ? run.revision : { ...run.revision, quarantine };
    const [call, host] = [toRunCall(run, this.#store), this.#hostOf(attempt)];
    const outcome = await callAgent(this.#env, revision, (agent) => agent.run(call, host));
    await this.#handleOutcome(attempt, outcome).finally(() => release(outcome));
  }

  #hostOf(attempt: RunAttempt): ThreadHost {
    return new ThreadHost(
      this.#store,
      (ops) => this.#commit(attempt, ops),
      attempt.cancelled,
      async (body) => authenticateRun(this.#liveRun(attempt), body),
      applierFor(this.#env, () => this.#liveRun(attempt, attempt.isInGrace)),
    );
  }

  async #handleOutcome(attempt: RunAttempt, sent: unknown) {
    const { run } = attempt;
    const outcome = this.#parse(attempt, () => parseOutcome(sent), "InvalidOutcomeError");
    if (!outcome.failure) outcome.ops.push(...(await feedbackOps(this.#env, run)));
    const isLive = this.#live === attempt;
    if (isLive) this.#end(run, outcome, { hasWholeTrace: outcome.traces === null });
    attempt.close();
    await this.#traces.collect(attempt, outcome, isLive);
  }

  /** Ends the run when its isolate sends invalid data. Its later calls are refused unread. */
  #parse<T extends { bytes: number }>(attempt: RunAttempt, parse: () => T, error: string): T {
    try {
      const parsed = parse();
      attempt.count(parsed.bytes);
      return parsed;
    } catch (reason) {
      if (this.#live === attempt) this.#refuse(attempt, error, messageOf(reason));
      throw reason;
    }
  }

  #liveRun(attempt: RunAttempt, isInGrace = false): StoredRun {
    if (this.#live === attempt || isInGrace) return attempt.run;
    throw new AppError("conflict", "This attempt of the run has ended.");
  }

  #commit(attempt: RunAttempt, sent: unknown) {
    const { run_id } = this.#liveRun(attempt);
    const { ops } = this.#parse(attempt, () => parseOps(sent), "InvalidCommitError");
    this.#touched.add(run_id);
    const total = this.#store.transaction(() => this.#store.apply(run_id, ops));
    if (total > MAX_EVENT_CHARACTERS) return this.#refuse(attempt, "EventLimitError", EVENT_LIMIT);
    this.#notify();
  }

  #refuse(attempt: RunAttempt, error: string, message: string) {
    attempt.cancel({ grace: false });
    this.#end(attempt.run, failed(error, message));
  }

  #retry(run: StoredRun, loss: Loss, reason: string) {
    this.#live = null;
    const next = afterLoss(run.attempt, loss);
    if (next === "end") {
      this.#end(run, failed("IsolateLostError", lossMessage(run.attempt, loss, reason)));
    } else this.#store.transaction(() => this.#start(run, next === "quarantine"));
    this.#notify();
  }

  /** `hasWholeTrace`: the outcome has the last operations of the trace. */
  #end(run: StoredRun, outcome: RunOutcome, { hasWholeTrace } = { hasWholeTrace: false }) {
    const { ops, failure, summary } = outcome;
    this.#live = null;
    this.#touched.add(run.run_id);
    const { runs, thread } = this.#store;
    this.#store.transaction(() => {
      this.#store.apply(run.run_id, ops);
      if (failure) this.#emit(run, "error", { error: failure.error, message: failure.message });
      runs.end(run.run_id, statusOf(outcome), failure, interruptsOf(outcome));
      if (hasWholeTrace) this.#store.traces.close(run.run_id);
      const hasWaiting = runs.inFlight().length > 0;
      const result = { failed: failure !== null, next: summary?.next ?? [] };
      thread.settle(threadStatusAfter(result, hasWaiting), summary, failure);
      this.#store.enqueueWebhook(run.run_id, { hasResult: true });
      if (run.kwargs.temporary && !hasWaiting) thread.markEnded();
      this.#startNext();
    });
    this.#notify();
  }
}
