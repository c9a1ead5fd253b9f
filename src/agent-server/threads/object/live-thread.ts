import { endThreadCrons } from "../callbacks.ts";
import type { NewThread, ThreadRecord } from "../contract/records.ts";
import { toTraceRows } from "./boundary/trace-texts.ts";
import { GRACE_PERIOD_MS, isAtRest } from "./loop/deletion-time.ts";
import { RunLoop } from "./loop/run-loop.ts";
import { Followers } from "./readers/followers.ts";
import { OpenStreams } from "./readers/open-streams.ts";
import { resultText } from "./result.ts";
import { ProtocolReaders } from "./sockets/readers.ts";
import { ThreadStore } from "./storage/store.ts";
import { ThreadAlarm } from "./thread-alarm.ts";

/** The thread of one object while the object is in memory: its storage, runs, readers and alarm. */
export class LiveThread {
  readonly store: ThreadStore;
  readonly loop: RunLoop;
  readonly followers: Followers;
  readonly streams = new OpenStreams();
  readonly protocol: ProtocolReaders;
  readonly alarm: ThreadAlarm;
  #isAwake = false;
  /** The newest run that storage refused. */
  #refused: { run_id: string; error: unknown } | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    const store = new ThreadStore(ctx.storage);
    const loop: RunLoop = new RunLoop(
      env,
      store,
      (run_ids) => this.changed(run_ids),
      (traces) => this.alarm.deliverOrphans(toTraceRows(traces)),
    );
    const isOver = (run_id: string) => loop.isOver(run_id);
    const followers = new Followers(store, isOver);
    const isVisible = () => this.openVisible();
    this.store = store;
    this.loop = loop;
    this.followers = followers;
    const { streams } = this;
    this.protocol = new ProtocolReaders({ ctx, store, followers, streams, isOver, isVisible });
    this.alarm = new ThreadAlarm(ctx, env, store, loop);
  }

  create(thread: NewThread, { canDefer } = { canDefer: false }) {
    this.store.create(thread, { canDefer });
    this.#isAwake = true;
  }

  /**
   * Continues what a restart interrupted, when this is the first call after one.
   * @returns `false` when the thread does not exist
   */
  open(): boolean {
    if (!this.store.exists) return false;
    if (!this.#isAwake) {
      this.#isAwake = true;
      this.loop.recover();
      this.changed();
    }
    return true;
  }

  /** @returns `false` also for a temporary thread that has ended, and for a copy that is not complete */
  openVisible(): boolean {
    return this.open() && this.store.thread.endedAt() === null;
  }

  /** Whether no stream or socket is open. Then only the caller of a run can receive events before they are written. */
  get isUnwatched(): boolean {
    return this.streams.isEmpty && !this.protocol.sockets.hasAny;
  }

  /**
   * Writes the run that was accepted in memory, before anything is answered about it. A run that storage refuses is
   * dropped. Only its caller knows it, and receives the error from `assertWritten`.
   */
  writeDeferred() {
    const { store, loop } = this;
    if (!store.isDeferring) return;
    const [run_id = ""] = store.runs.queue.inFlight();
    try {
      store.writeDeferred();
    } catch (error) {
      this.#refused = { run_id, error };
      loop.abandonUnwritten();
      return this.protocol.wake([run_id]);
    }
    this.changed([]);
  }

  /**
   * Writes the run that was accepted in memory.
   * @throws the error of storage when it has refused the row of this run
   */
  assertWritten(run_id: string) {
    this.writeDeferred();
    if (this.#refused?.run_id !== run_id) return;
    // A later request with its id may have succeeded.
    if (!this.store.exists || !this.store.runs.get(run_id)) throw this.#refused.error;
  }

  /** Makes room for another thread, if this one has ended and has no reader. @returns `false` when it stays */
  vacate(): boolean {
    const { store, loop } = this;
    if (!loop.isQuiet || !this.isUnwatched || !isAtRest(store)) return false;
    store.endedRuns.deleteBefore(Date.now() - GRACE_PERIOD_MS);
    const resultOf = (run_id: string) => resultText(store, run_id, "join");
    return store.vacate(store.thread.endedAt() ?? 0, resultOf);
  }

  /** Sets the alarm and wakes the readers: those of these runs, or of all without a list, and those of the thread. */
  changed(run_ids?: string[]) {
    this.alarm.arm();
    this.protocol.wake(run_ids);
  }

  /** Read-your-writes: the directory has the record when this resolves, unless it is unavailable. */
  async publishRecord(): Promise<ThreadRecord> {
    this.changed();
    // Precedes the call, during which the thread may be deleted.
    const record = this.store.thread.record();
    await this.alarm.publish();
    return record;
  }

  /** Deletes the thread, if its TTL has expired. A run that is accepted before the deletion begins keeps the thread. */
  async deleteExpired(): Promise<void> {
    await this.delete(() => this.alarm.isExpired);
    if (this.openVisible()) await this.alarm.handle();
  }

  /**
   * Deletes the thread, unless `isDue` returns `false` after one of the waits.
   * @returns `false` when the thread does not exist, is not due, or was hidden: a temporary thread that had ended
   */
  async delete(isDue = () => true): Promise<boolean> {
    if (!this.open()) return false;
    const { temporary, deployment_id, thread_id } = this.store.thread.header();
    await this.alarm.flushBeforeDeletion();
    if (!this.open() || !isDue()) return false;
    // The thread exists until its crons have ended, so that a retry after a crash does what is left.
    if (!temporary) await endThreadCrons(deployment_id, thread_id);
    if (!this.open() || !isDue()) return false;
    const header = this.store.thread.header();
    this.loop.abandonAll();
    await this.alarm.deleteAll(header);
    this.protocol.closeThread(thread_id);
    return !(header.temporary && header.ended_at !== null);
  }
}
