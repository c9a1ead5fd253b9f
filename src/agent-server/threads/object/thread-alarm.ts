import { log } from "../../../shared/log.ts";
import type { Outbox } from "../../../shared/work/outbox.ts";
import type { LateCancellation } from "../contract/records.ts";
import { nextWake } from "../contract/run-decisions.ts";
import type { Ttl } from "../contract/ttl.ts";
import type { TraceRow } from "./boundary/trace-texts.ts";
import { deletionAt, GRACE_PERIOD_MS, isDeletable } from "./loop/deletion-time.ts";
import type { RunLoop } from "./loop/run-loop.ts";
import { DirectoryPublisher, traceOutbox, webhookOutbox } from "./outboxes.ts";
import type { ThreadStore } from "./storage/store.ts";
import type { ThreadHeader } from "./storage/thread-rows.ts";
import { deliverOrphans } from "./trace-delivery.ts";
import { deleteListed } from "./unlisted-thread.ts";

/**
 * Interval of the alarm during a run. The alarm keeps the object in memory, and restarts the run after a crash.
 */
const HEARTBEAT_MS = 15_000;
/**
 * Delay before the alarm of an idle thread is moved to a later time: runs that follow each other share one write. It is
 * short, because a timer keeps the object in memory, which is billed.
 */
const IDLE_MS = 1_000;
/** Retention of the events of ended runs. */
const EVENT_RETENTION_MS = 24 * 60 * 60 * 1000;
/** Runs that end within this time share the alarm that deletes their events. */
const EVENT_EXPIRY_SPAN_MS = 60 * 60 * 1000;
/** Maximum runs whose events one alarm deletes. The alarm of the next run is due within `EVENT_EXPIRY_SPAN_MS`. */
const MAX_EXPIRED_RUNS = 100;
/**
 * First delay before the directory or the traces are delivered again. It equals a heartbeat, so one alarm serves both.
 */
const RETRY_MS = HEARTBEAT_MS;

/** Work of the alarm: heartbeats, retries of the outboxes, expiry and deletion. */
export class ThreadAlarm {
  readonly #ctx: DurableObjectState;
  readonly #env: Env;
  readonly #store: ThreadStore;
  readonly #loop: RunLoop;
  /** Epoch milliseconds of the alarm that this object has set and that has not fired, else `null`. */
  #alarmAt: number | null = null;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  /** The ended run whose events expire next. */
  #oldestEnd: { run_id: string; ended_at: number } | null = null;
  /** Header for traces that arrive after the deletion. */
  #deletedThread: ThreadHeader | null = null;
  readonly #webhooks: Outbox;
  readonly #directory: DirectoryPublisher;
  readonly #traces: Outbox;

  constructor(ctx: DurableObjectState, env: Env, store: ThreadStore, loop: RunLoop) {
    this.#ctx = ctx;
    this.#env = env;
    this.#store = store;
    this.#loop = loop;
    const { kv } = ctx.storage;
    const onFlushed = () => this.arm();
    const onCancelled = (all: LateCancellation[]) => loop.cancelLate(all);
    const thread = { env, store, kv, retry_ms: RETRY_MS, onFlushed, onCancelled };
    this.#webhooks = webhookOutbox(thread);
    this.#directory = new DirectoryPublisher(thread);
    this.#traces = traceOutbox(thread);
  }

  /** Sets the alarm and schedules the flushes. */
  arm() {
    if (!this.#store.exists || this.#store.isDeferring) return;
    const wake = this.#nextWake();
    clearTimeout(this.#idleTimer);
    if (wake !== null && (this.#alarmAt === null || wake < this.#alarmAt)) this.#setAlarm(wake);
    else if (this.#isTooEarly(wake)) this.#idleTimer = setTimeout(() => this.#postpone(), IDLE_MS);
    for (const outbox of [this.#webhooks, this.#directory.outbox, this.#traces]) outbox.schedule();
  }

  #setAlarm(wake: number) {
    this.#alarmAt = wake;
    void this.#ctx.storage.setAlarm(wake);
  }

  // An alarm that is too early only sets the next one, but it would wake an idle object.
  #postpone() {
    const wake = this.#store.exists ? this.#nextWake() : null;
    if (wake !== null && this.#isTooEarly(wake)) this.#setAlarm(wake);
  }

  #isTooEarly(wake: number | null): boolean {
    if (this.#loop.isLive || wake === null || this.#alarmAt === null) return false;
    // The object of a temporary thread may have the next one soon: one alarm serves many of them.
    if (this.#store.thread.endedAt() !== null) return false;
    return wake > this.#alarmAt + HEARTBEAT_MS;
  }

  async handle() {
    this.#alarmAt = null;
    this.#loop.advance();
    await this.#deliverTraces();
    await this.publish();
    // The thread may have been deleted during the calls.
    if (!this.#store.exists) return;
    this.#store.endedRuns.deleteBefore(Date.now() - GRACE_PERIOD_MS);
    this.#webhooks.schedule();
    const header = this.#store.thread.header();
    if (isDeletable(this.#store)) return this.deleteAll(header);
    // Rows of events may have traces that wait for ingestion.
    if (!this.#store.traces.hasPending) this.#expireEvents();
    // A thread that expired during the calls and is to be deleted has its next alarm at once.
    if (this.#isExpired("keep_latest")) this.prune();
    this.arm();
  }

  /** Whether the TTL of the thread has expired, and its strategy is `delete`. */
  get isExpired(): boolean {
    return this.#isExpired("delete");
  }

  #isExpired(strategy: Ttl["strategy"]): boolean {
    const expires_at = this.#expiresAt();
    const isDue = expires_at !== null && expires_at <= Date.now();
    return isDue && this.#store.thread.ttl?.strategy === strategy;
  }

  // Threads with runs in flight do not expire.
  #expiresAt(): number | null {
    const { runs, thread } = this.#store;
    return runs.queue.isEmpty ? thread.expiresAt() : null;
  }

  /**
   * Deletes all but the latest state.
   * @returns `false` when a run is in flight: its rollback may need older checkpoints
   */
  prune(): boolean {
    if (!this.#store.runs.queue.isEmpty) return false;
    this.#store.transaction(() => {
      this.#store.checkpoints.keepLatest();
      this.#store.thread.markPruned();
    });
    return true;
  }

  /**
   * Flushes the webhooks before a thread is deleted by request or by its TTL, and delivers its traces when they exceed
   * the memory limit.
   * @throws when a webhook cannot be handed over
   */
  async flushBeforeDeletion(): Promise<void> {
    while (this.#store.exists && this.#store.webhooks.hasPending) await this.#webhooks.flush();
    if (this.#store.exists && !this.#store.traces.pages().isWhole) await this.#deliverTraces();
  }

  /**
   * Deletes the thread. Delivers its remaining traces from memory, up to a limit, without waiting for them. While
   * readers of earlier threads of the object may reconnect, an empty thread that has ended remains.
   */
  async deleteAll(header: ThreadHeader) {
    const { pages, isWhole } = this.#store.traces.pages();
    if (!isWhole)
      log.warn("traces_dropped", { thread_id: header.thread_id, error: "too many to hold" });
    this.#deletedThread = header;
    for (const page of pages) this.deliverOrphans(page);
    if (this.#store.endedRuns.hasSince(Date.now() - GRACE_PERIOD_MS)) {
      this.#store.clearEnded();
      return this.arm();
    }
    this.#alarmAt = null;
    if (header.temporary && !this.#store.thread.listing.isPublished) await this.#store.deleteAll();
    else await deleteListed(this.#ctx.storage, this.#env, this.#store);
  }

  deliverOrphans(traces: TraceRow[]) {
    const header = this.#deletedThread;
    if (header) this.#ctx.waitUntil(deliverOrphans(this.#env, header, traces));
  }

  #nextWake(): number | null {
    const { runs } = this.#store;
    // A run that is due but queued starts when the run before ends.
    const due = runs.queue.nextDue();
    const now = Date.now();
    return nextWake([
      this.#loop.isLive ? now + HEARTBEAT_MS : null,
      due !== null && due > now ? due : null,
      deletionAt(this.#store, now),
      this.#expiresAt(),
      this.#eventExpiry(now),
      this.#webhooks.wake,
      this.#traces.wake,
      this.#directory.outbox.wake,
    ]);
  }

  #eventExpiry(now: number): number | null {
    const run_id = this.#store.events.oldestRun;
    if (run_id === null) return null;
    // Events whose traces wait cannot expire: a time in the past would repeat the alarm at once.
    const ended_at = this.#store.traces.hasPending ? null : this.#endOf(run_id);
    return (ended_at ?? now) + EVENT_RETENTION_MS + EVENT_EXPIRY_SPAN_MS;
  }

  #endOf(run_id: string): number | null {
    if (this.#oldestEnd?.run_id === run_id) return this.#oldestEnd.ended_at;
    const ended_at = this.#store.runs.endedAt(run_id);
    this.#oldestEnd = ended_at === null ? null : { run_id, ended_at };
    return ended_at;
  }

  /** Delivers traces, also before their retry is due. Does not reject: the outbox repeats a failed delivery. */
  #deliverTraces(): Promise<void> {
    return this.#traces.flush().catch(() => undefined);
  }

  #expireEvents() {
    const { runs, events } = this.#store;
    const until = Date.now() - EVENT_RETENTION_MS;
    let areUnused = false;
    for (let expired = 0; expired < MAX_EXPIRED_RUNS; expired += 1) {
      const run_id = events.oldestRun;
      const ended_at = run_id === null ? null : runs.endedAt(run_id);
      if (run_id === null || ended_at === null || ended_at > until) break;
      this.#store.transaction(() => {
        areUnused = events.deleteOf(run_id) || areUnused;
        runs.markEventsDeleted(run_id);
      });
    }
    if (areUnused) events.dropUnused();
  }

  /** Read-your-writes: resolves when the directory is current or unavailable. */
  publish(): Promise<void> {
    return this.#directory.publishNow();
  }
}
