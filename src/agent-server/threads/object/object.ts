import { exports } from "cloudflare:workers";
import { allows, type Filters } from "../../../shared/filters.ts";
import { toTraceRows } from "../boundary/trace-texts.ts";
import { resolveAnswer } from "../events/answers.ts";
import { isKeepable } from "../loop/merge.ts";
import { RunLoop } from "../loop/run-loop.ts";
import { threadNotFound } from "../loop/state-answers.ts";
import {
  type HistoryPart,
  type StateAnswer,
  type StatePart,
  ThreadStates,
  type UpdatePart,
} from "../loop/states.ts";
import { Followers } from "../readers/followers.ts";
import type { ThreadStreamChoice } from "../readers/thread-stream.ts";
import type {
  Accepted,
  CancelChoice,
  NewThread,
  RevisionRef,
  RunRecord,
  RunRefusal,
  RunRequest,
  StreamChoice,
  ThreadRecord,
} from "../records.ts";
import { type CancelAction, chooseRuns } from "../runs.ts";
import { ProtocolReaders } from "../sockets/readers.ts";
import { WatchedObject } from "../sockets/watched-object.ts";
import type { CopiedPage, CopiedTable, CopyHead } from "../storage/copy.ts";
import { type RunQuery, toRecord } from "../storage/run-rows.ts";
import { EMPTY_QUEUE, type QueueState } from "../storage/runs.ts";
import { ThreadStore } from "../storage/store.ts";
import type { Ttl } from "../ttl.ts";
import { copyHistory, headOf } from "./copying.ts";
import { RunReaders } from "./run-readers.ts";
import { threadWithFilters } from "./stub.ts";
import { ThreadAlarm } from "./thread-alarm.ts";
import { type FilteredCall, notFoundResult } from "./thread-calls.ts";

/** One thread: its runs, its state, its stream. Named `{deployment_id}/{thread_id}`. */
export class ThreadObject extends WatchedObject {
  readonly #store = new ThreadStore(this.ctx.storage);
  readonly #loop = new RunLoop(
    this.env,
    this.#store,
    (run_ids) => this.#changed(run_ids),
    (traces) => this.#threadAlarm.deliverOrphans(toTraceRows(traces)),
  );
  readonly #isOver = (run_id: string) => this.#loop.isOver(run_id);
  readonly #followers = new Followers(this.#store, this.#isOver);
  readonly #readers = new RunReaders(this.#store, this.#loop, this.#followers);
  protected override readonly protocol = new ProtocolReaders({
    ctx: this.ctx,
    store: this.#store,
    followers: this.#followers,
    isOver: this.#isOver,
    isThere: () => this.#openVisible(),
  });
  readonly #threadAlarm = new ThreadAlarm(this.ctx, this.env, this.#store, this.#loop);
  readonly #states = new ThreadStates(this.env, this.#store, () => this.#changed());
  #awake = false;

  /** The same call by somebody who may see some threads only. Found out and done in one turn. */
  async withFilters(filters: Filters, call: FilteredCall): Promise<unknown> {
    const hidden = notFoundResult(call);
    if (this.#open() && !allows(filters, this.#store.thread.outline().metadata)) return hidden;
    return Reflect.apply(this[call.method], this, call.args);
  }

  // ── threads ──

  /** Null: the thread is there already. */
  async createThread(thread: NewThread): Promise<ThreadRecord | null> {
    if (this.#open()) return null;
    this.#create(thread);
    return this.#publishRecord();
  }

  async getThread(): Promise<ThreadRecord | null> {
    return this.#openVisible() ? this.#store.thread.record() : null;
  }

  async getThreadWithin(characters: number): Promise<ThreadRecord | "too_large" | false> {
    return this.#openVisible() && this.#store.thread.recordWithin(characters);
  }

  async patchThread(
    change: Record<string, unknown>,
    ttl: Ttl | null = null,
  ): Promise<ThreadRecord | Exclude<RunRefusal, "busy">> {
    if (!this.#openVisible()) return "thread_missing";
    const { thread } = this.#store;
    const metadata = { ...thread.outline().metadata, ...change };
    if (!isKeepable(metadata)) return "too_large";
    this.#store.transaction(() => thread.patch({ metadata, ttl }));
    return this.#publishRecord();
  }

  /** False: there is no such thread, or a run is under way. */
  async pruneThread(): Promise<boolean> {
    return this.#openVisible() && this.#threadAlarm.prune();
  }

  /** Makes this thread, which is new, a copy of another. Null: there is no such one. */
  async copyThread(
    source_id: string,
    thread: NewThread,
    filters: Filters | null = null,
  ): Promise<ThreadRecord | null> {
    this.#create({ ...thread, temporary: true });
    const source = threadWithFilters(this.env, thread.deployment_id, source_id, filters);
    if (!(await copyHistory(this.#store, source, thread.metadata))) {
      await this.#threadAlarm.deleteAll(this.#store.thread.header());
      return null;
    }
    this.#loop.recover();
    return this.#publishRecord();
  }

  async exportHead(): Promise<CopyHead | null> {
    return this.#openVisible() ? headOf(this.#store) : null;
  }

  async exportPage(table: CopiedTable, after: number, upto: number): Promise<CopiedPage | null> {
    return this.#openVisible() ? this.#store.copyPage(table, after, upto) : null;
  }

  /** Null: no such thread. */
  async followThread(choice: ThreadStreamChoice): Promise<ReadableStream | null> {
    if (!this.#openVisible()) return null;
    return this.#readers.all(choice);
  }

  async deleteThread(): Promise<boolean> {
    if (!this.#open()) return false;
    const { temporary, deployment_id, thread_id } = this.#store.thread.header();
    // First, so that a retry after a crash does what is left.
    if (!temporary) await exports.ThreadCrons({}).end(deployment_id, thread_id);
    await this.#threadAlarm.handOver();
    if (!this.#open()) return false;
    const place = this.#store.thread.header();
    this.#loop.abandon();
    await this.#threadAlarm.deleteAll(place);
    this.protocol.leave(threadNotFound(thread_id));
    return !(place.temporary && place.ended_at !== null);
  }

  // ── runs ──

  async createRun(request: RunRequest): Promise<Accepted<object>> {
    return this.#accept(request, () => ({}));
  }

  async streamRun(
    request: RunRequest,
    choice: StreamChoice,
  ): Promise<Accepted<{ stream: ReadableStream }>> {
    return this.#accept(request, (run) => ({ stream: this.#readers.events(run.run_id, choice) }));
  }

  async waitRun(
    request: RunRequest,
    on_leave: "cancel" | "continue",
  ): Promise<Accepted<{ stream: ReadableStream }>> {
    return this.#accept(request, (run) => ({
      stream: this.#readers.result(run.run_id, "wait", on_leave === "cancel"),
    }));
  }

  /** Null: no such run. A temporary run can be followed for a while after it is over. */
  async followRun(run_id: string, choice: StreamChoice): Promise<ReadableStream | null> {
    return this.#open() && this.#store.runs.get(run_id)
      ? this.#readers.events(run_id, choice)
      : null;
  }

  async joinRun(run_id: string, cancel_on_disconnect: boolean): Promise<ReadableStream | null> {
    if (!this.#openVisible() || !this.#store.runs.get(run_id)) return null;
    return this.#readers.result(run_id, "join", cancel_on_disconnect);
  }

  async getRun(run_id: string): Promise<RunRecord | null> {
    const run = this.#openVisible() ? this.#store.runs.get(run_id) : null;
    return run && toRecord(run);
  }

  /** @returns `null` when the thread does not exist */
  async listRuns(query: RunQuery): Promise<RunRecord[] | "too_large" | null> {
    return this.#openVisible() ? this.#store.runs.list(query) : null;
  }

  /** How many runs wait and run, and since when the first has been waiting, in epoch milliseconds. */
  async getQueue(): Promise<QueueState> {
    return this.#openVisible() ? this.#store.runs.queue() : EMPTY_QUEUE;
  }

  /** False: no such run. A run that is over stays as it is. */
  async cancelRun(
    run_id: string,
    action: CancelAction,
    { wait, reason }: { wait: boolean; reason: string | null },
  ): Promise<boolean> {
    if (!this.#openVisible() || !this.#store.runs.get(run_id)) return false;
    if (this.#store.runs.isInFlight(run_id)) {
      const settled = this.#loop.cancel([run_id], action, reason);
      if (wait) await settled;
    }
    return true;
  }

  /** Of these runs, or of all that stand so; says how many there were. */
  async cancelRuns(choice: CancelChoice, action: CancelAction, reason: string): Promise<number> {
    if (!this.#openVisible()) return 0;
    const { found, inFlight } = chooseRuns(this.#store.runs, choice);
    // The cancellation is written when this returns; that its thread settles need not be waited for.
    if (inFlight.length > 0) void this.#loop.cancel(inFlight, action, reason);
    return found;
  }

  async deleteRun(run_id: string): Promise<boolean> {
    if (!this.#openVisible() || !this.#store.runs.get(run_id)) return false;
    await this.#loop.forget(run_id);
    this.#changed();
    return true;
  }

  // ── protocol v2 ──

  /** A run that a command asks for, and the last event before it. */
  async commandRun(request: RunRequest): Promise<Accepted<{ last_event: number }>> {
    const last_event = this.#open() ? this.#store.events.lastId() : 0;
    const answering = this.#openVisible() ? resolveAnswer(request, this.#store) : request;
    if (typeof answering === "string") return { ok: false, refusal: answering };
    return this.#accept(answering, () => ({ last_event }));
  }

  // ── state ──

  async getState(call: StatePart, active: RevisionRef): Promise<StateAnswer> {
    return this.#openVisible() ? this.#states.get(call, active) : { missing: "thread" };
  }

  async getHistory(call: HistoryPart, active: RevisionRef): Promise<StateAnswer> {
    return this.#openVisible() ? this.#states.history(call, active) : { missing: "thread" };
  }

  async updateState(call: UpdatePart, active: RevisionRef): Promise<StateAnswer> {
    if (!this.#openVisible()) return { missing: "thread" };
    const answer = await this.#states.update(call, active);
    await this.#threadAlarm.publish();
    return answer;
  }

  override async alarm() {
    if (this.#open() && this.#threadAlarm.isExpired) await this.deleteThread();
    else if (this.#store.exists) await this.#threadAlarm.handle();
    this.protocol.wake();
  }

  // ── within ──

  #accept<T>(request: RunRequest, withRun: (run: RunRecord) => T): Accepted<T> {
    const known = this.#open() ? this.#store.runs.get(request.run_id) : null;
    if (known) return { ok: true, run: toRecord(known), ...withRun(toRecord(known)) };
    if (!this.#openVisible()) {
      // The thread of a threadless run that ended is hidden, and its id is taken until it is deleted.
      if (!request.create_thread || this.#store.exists)
        return { ok: false, refusal: "thread_missing" };
      this.#create(request.create_thread);
    }
    const run = this.#loop.accept(request);
    if (typeof run === "string") return { ok: false, refusal: run };
    return { ok: true, run: toRecord(run), ...withRun(run) };
  }

  /** The directory has heard of it before the caller does. */
  async #publishRecord(): Promise<ThreadRecord> {
    this.#changed();
    // Before the pause, in which the thread may be deleted.
    const record = this.#store.thread.record();
    await this.#threadAlarm.publish();
    return record;
  }

  #create(thread: NewThread) {
    this.#store.create(thread);
    this.#awake = true;
  }

  /** False: there is no such thread. The first call after a restart picks up what was left. */
  #open(): boolean {
    if (!this.#store.exists) return false;
    if (!this.#awake) {
      this.#awake = true;
      this.#loop.recover();
      this.#changed();
    }
    return true;
  }

  #openVisible(): boolean {
    return this.#open() && this.#store.thread.endedAt() === null;
  }

  #changed(run_ids?: string[]) {
    this.#threadAlarm.arm();
    this.protocol.wake(run_ids);
  }
}
