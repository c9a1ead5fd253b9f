import type {
  CancelChoice,
  Interrupts,
  ResultKind,
  RunAcceptance,
  RunRecord,
  RunRefusal,
  RunRequest,
  StreamChoice,
  ThreadRecord,
  ThreadResult,
} from "../contract/records.ts";
import { type CancelAction, chooseRuns } from "../contract/run-decisions.ts";
import type { StoredRun } from "../contract/stored-run.ts";
import type { LiveThread } from "./live-thread.ts";
import { resolveAnswer } from "./loop/interrupt-answers.ts";
import { refusalOfFirst } from "./loop/run-plan.ts";
import { isLongGraph } from "./readers/long-graphs.ts";
import type { RunReaders } from "./run-readers.ts";
import { EMPTY_QUEUE, type QueueState } from "./storage/run-queue.ts";
import { type RunQuery, toRecord } from "./storage/run-rows.ts";

/** Maximum time that a run with `answers` waits for the end of the run whose interrupts it resumes. */
const ENDING_MS = 30_000;
/** Maximum number of answers that wait for the end of a run. */
const MAX_AWAITED = 100;

/** `interrupts` is `null` when they are too large. */
export type WaitingState = Pick<ThreadRecord, "metadata"> & { interrupts: Interrupts | null };

export class RunMethods {
  readonly #thread: LiveThread;
  readonly #readers: RunReaders;

  constructor(thread: LiveThread, readers: RunReaders) {
    this.#thread = thread;
    this.#readers = readers;
  }

  async createRun(request: RunRequest): Promise<RunAcceptance<object>> {
    await this.#awaitInterruptingRun(request);
    return this.#accept(request, () => ({}));
  }

  async streamRun(
    request: RunRequest,
    choice: StreamChoice,
  ): Promise<RunAcceptance<{ events: string | ReadableStream }>> {
    await this.#awaitInterruptingRun(request);
    // The stream of a long graph begins at once: its run must be written before.
    const accepted = this.#accept(request, () => ({}), { inMemory: !isLongGraph(request) });
    if (!accepted.ok) return accepted;
    const events = await this.#readers.stream(accepted.run.run_id, request, choice);
    return { ...accepted, events };
  }

  /** `kind`: the form of the result of a cancelled run. */
  async waitRun(
    request: RunRequest,
    on_leave: "cancel" | "continue",
    kind: ResultKind = "wait",
  ): Promise<RunAcceptance<{ body: string | ReadableStream }>> {
    await this.#awaitInterruptingRun(request);
    const accepted = this.#accept(request, () => ({}), { inMemory: true });
    if (!accepted.ok) return accepted;
    const { run_id } = accepted.run;
    const body = await this.#readers.wait(run_id, request, kind, on_leave === "cancel");
    return { ...accepted, body };
  }

  /** Follows the run of a temporary thread also after its end. @returns `null` when the run does not exist */
  async followRun(run_id: string, choice: StreamChoice): Promise<ReadableStream | null> {
    return this.#thread.open() && this.#thread.store.runs.get(run_id)
      ? this.#readers.events(run_id, choice)
      : null;
  }

  /** Joins the run of a temporary thread also after its end. @returns `null` when the run does not exist */
  async joinRun(run_id: string, cancel_on_disconnect: boolean): Promise<ReadableStream | null> {
    if (!this.#thread.open() || !this.#thread.store.runs.get(run_id)) return null;
    return this.#readers.result(run_id, "join", cancel_on_disconnect);
  }

  async getRun(run_id: string): Promise<RunRecord | null> {
    const run = this.#thread.openVisible() ? this.#thread.store.runs.get(run_id) : null;
    return run && toRecord(run);
  }

  /** Finds the run of a temporary thread also after its end. */
  async hasRun(run_id: string): Promise<boolean> {
    return this.#thread.open() && this.#thread.store.runs.get(run_id) !== null;
  }

  async listRuns(query: RunQuery): Promise<ThreadResult<{ runs: RunRecord[] }>> {
    if (!this.#thread.openVisible()) return { ok: false, refusal: "thread_missing" };
    const runs = this.#thread.store.runs.list(query);
    return runs ? { ok: true, runs } : { ok: false, refusal: "too_large" };
  }

  async getQueue(): Promise<QueueState> {
    return this.#thread.openVisible() ? this.#thread.store.runs.queue.state() : EMPTY_QUEUE;
  }

  /** @returns `null` unless the thread waits at an interrupt */
  async getWaiting(max_characters: number): Promise<WaitingState | null> {
    if (!this.#thread.openVisible()) return null;
    const { thread } = this.#thread.store;
    const { status, metadata } = thread.outline();
    if (status !== "interrupted" || thread.isStopped) return null;
    const interrupts = thread.interrupts();
    const isShort = JSON.stringify(interrupts).length <= max_characters;
    return { metadata, interrupts: isShort ? interrupts : null };
  }

  /** @returns `false` when the run does not exist. A run that is over does not change. */
  async cancelRun(
    run_id: string,
    action: CancelAction,
    { wait, reason }: { wait: boolean; reason: string | null },
  ): Promise<boolean> {
    if (!this.#thread.openVisible() || !this.#thread.store.runs.get(run_id)) return false;
    if (this.#thread.store.runs.queue.isInFlight(run_id)) {
      const settled = this.#thread.loop.cancel([run_id], action, reason);
      if (wait) await settled;
    }
    return true;
  }

  /** @returns the number of runs that match */
  async cancelRuns(choice: CancelChoice, action: CancelAction, reason: string): Promise<number> {
    if (!this.#thread.openVisible()) return 0;
    const { found, inFlight } = chooseRuns(this.#thread.store.runs, choice);
    // Storage has the cancellation when this returns. The caller does not wait until the thread is settled.
    if (inFlight.length > 0) void this.#thread.loop.cancel(inFlight, action, reason);
    return found;
  }

  async deleteRun(run_id: string): Promise<boolean> {
    if (!this.#thread.openVisible() || !this.#thread.store.runs.get(run_id)) return false;
    await this.#thread.loop.deleteRun(run_id);
    this.#thread.changed();
    return true;
  }

  /** `last_event`: id of the thread's last event before the run, 0 without one. */
  async commandRun(request: RunRequest): Promise<RunAcceptance<{ last_event: number }>> {
    await this.#awaitInterruptingRun(request);
    const last_event = this.#thread.open() ? this.#thread.store.events.lastId() : 0;
    return this.#accept(request, () => ({ last_event }));
  }

  /**
   * Waits for the end of the run in flight whose events name the interrupts: clients may answer before that end. Does
   * not wait for a run that has not emitted them, as its next interrupt can have the same id, nor while other runs are
   * queued, as these take the thread past its interrupts. Each answer is sought in the events, so many are not awaited.
   */
  async #awaitInterruptingRun({ answers }: RunRequest): Promise<void> {
    if (!Array.isArray(answers) || answers.length > MAX_AWAITED) return;
    const { store, followers } = this.#thread;
    const [run_id, ...others] = this.#thread.openVisible() ? store.runs.queue.inFlight() : [];
    if (run_id === undefined || others.length > 0) return;
    if (!(await followers.hasEmitted(run_id, answers))) return;
    const deadline = Date.now() + ENDING_MS;
    while (this.#thread.openVisible() && store.runs.queue.isInFlight(run_id)) {
      if (!(await followers.changeOfAny(deadline - Date.now()))) return;
    }
  }

  /**
   * Finds the run of an earlier request with the same id or idempotency key.
   * @returns `"key_reused"` when the earlier request with the key differed
   */
  #knownRun({ run_id, keyed }: RunRequest): StoredRun | "key_reused" | null {
    const { runs } = this.#thread.store;
    const other = keyed && (runs.get(keyed.earlier_id) ?? runs.get(keyed.later_id));
    const known = runs.get(run_id) ?? other ?? null;
    if (!known || !keyed || known.request_sha256 === keyed.request_sha256) return known;
    return "key_reused";
  }

  /** Whether the run begins at the head, or at a checkpoint of this thread. */
  #hasCheckpointOf({ kwargs }: RunRequest): boolean {
    const { checkpoint_id, checkpoint_ns } = kwargs.config.configurable ?? {};
    if (!checkpoint_id) return true;
    const { exists, checkpoints } = this.#thread.store;
    return exists && checkpoints.has(String(checkpoint_ns ?? ""), String(checkpoint_id));
  }

  #refusalOf(request: RunRequest): RunRefusal | null {
    if (!this.#hasCheckpointOf(request)) return "checkpoint_missing";
    const { store } = this.#thread;
    if (this.#thread.openVisible()) {
      const { after_run_id } = request;
      return after_run_id && store.runs.newest()?.run_id !== after_run_id ? "outdated" : null;
    }
    // The thread of a threadless run that ended is hidden, and its id is taken until it is deleted.
    if (!request.create_thread || store.exists) return "thread_missing";
    return refusalOfFirst(request, request.create_thread);
  }

  /** Creates the thread of the request if there is none. @returns whether the run may be accepted in memory */
  #openFor({ create_thread }: RunRequest, inMemory: boolean): boolean {
    const canDefer = inMemory && this.#thread.isUnwatched;
    if (this.#thread.openVisible()) return canDefer;
    if (create_thread) this.#thread.create(create_thread, { canDefer });
    return this.#thread.store.isDeferring;
  }

  #accept<T>(
    request: RunRequest,
    withRun: (run: RunRecord) => T,
    { inMemory } = { inMemory: false },
  ): RunAcceptance<T> {
    const known = this.#thread.open() ? this.#knownRun(request) : null;
    if (known === "key_reused") return { ok: false, refusal: known };
    if (known) return { ok: true, run: toRecord(known), ...withRun(toRecord(known)) };
    const refusal = this.#refusalOf(request);
    if (refusal) return { ok: false, refusal };
    const canDefer = this.#openFor(request, inMemory);
    const answering = resolveAnswer(request, this.#thread.store);
    if (typeof answering === "string") return { ok: false, refusal: answering };
    const run = this.#thread.loop.accept(answering, { canDefer });
    if (typeof run === "string") return { ok: false, refusal: run };
    return { ok: true, run: toRecord(run), ...withRun(run) };
  }
}
