import { log } from "../../../shared/log.ts";
import type { Outbox } from "../../../shared/work/outbox.ts";
import type { TraceRow } from "../boundary/trace-texts.ts";
import { forgetThread } from "../directory/directory.ts";
import type { RunLoop } from "../loop/run-loop.ts";
import { nextWake } from "../runs.ts";
import type { ThreadStore } from "../storage/store.ts";
import type { ThreadHeader } from "../storage/thread-rows.ts";
import { directoryOutbox, traceOutbox, webhookOutbox } from "./outboxes.ts";
import { deliver } from "./trace-delivery.ts";

/** Heartbeats of a live run keep the object awake and detect a lost attempt within seconds. */
const HEARTBEAT_MS = 15_000;
/** Retention of the events of ended runs. */
const EVENT_RETENTION_MS = 24 * 60 * 60 * 1000;
/** Time in which readers of a temporary thread can reconnect after its run. */
const GRACE_PERIOD_MS = 2 * 60 * 1000;
/** A cron or a client with a key may repeat its request for this long: the run, which must start once, still exists. */
const REPEAT_GRACE_PERIOD_MS = 24 * 60 * 60 * 1000;
/** Equals a heartbeat, so that one alarm serves both. */
const RETRY_MS = HEARTBEAT_MS;
/** Maximum time a deletion waits for undelivered traces and the directory. */
const MAX_DELETION_DELAY_MS = 60 * 60 * 1000;

/** Work of the alarm: heartbeats, retries of the outboxes, expiry and deletion. */
export class ThreadAlarm {
  readonly #ctx: DurableObjectState;
  readonly #env: Env;
  readonly #store: ThreadStore;
  readonly #loop: RunLoop;
  #alarmAt: number | null = null;
  /** Header for traces that arrive after the deletion. */
  #deletedThread: ThreadHeader | null = null;
  readonly #webhooks: Outbox;
  readonly #directory: Outbox;
  readonly #traces: Outbox;

  constructor(ctx: DurableObjectState, env: Env, store: ThreadStore, loop: RunLoop) {
    this.#ctx = ctx;
    this.#env = env;
    this.#store = store;
    this.#loop = loop;
    const thread = { env, store, retry_ms: RETRY_MS, onFlushed: () => this.arm() };
    this.#webhooks = webhookOutbox(thread);
    this.#directory = directoryOutbox(thread);
    this.#traces = traceOutbox(thread);
  }

  /** Sets the alarm and schedules the flushes. */
  arm() {
    if (!this.#store.exists) return;
    const wake = this.#nextWake();
    if (wake !== null && this.#mustMove(wake)) {
      this.#alarmAt = wake;
      void this.#ctx.storage.setAlarm(wake);
    }
    for (const outbox of [this.#webhooks, this.#directory, this.#traces]) outbox.schedule();
  }

  // An early alarm sets itself again. After the last run it is moved, since it would wake an idle thread.
  #mustMove(wake: number): boolean {
    if (this.#alarmAt === null || wake < this.#alarmAt) return true;
    return !this.#loop.isLive && wake > this.#alarmAt + HEARTBEAT_MS;
  }

  async handle() {
    this.#alarmAt = null;
    this.#loop.advance();
    await this.#deliver();
    await this.publish();
    // The thread may have been deleted during the calls.
    if (!this.#store.exists) return;
    this.#webhooks.schedule();
    const header = this.#store.thread.header();
    if (this.#isGone(header)) return this.deleteAll(header);
    this.#expireEvents();
    if (this.#isExpired()) this.prune();
    this.arm();
  }

  get isExpired(): boolean {
    return this.#isExpired() && this.#store.thread.ttl?.strategy === "delete";
  }

  #isExpired(): boolean {
    const expires_at = this.#expiresAt();
    return expires_at !== null && expires_at <= Date.now();
  }

  // Threads with runs in flight do not expire.
  #expiresAt(): number | null {
    const { runs, thread } = this.#store;
    return runs.queue.isEmpty ? thread.expiresAt() : null;
  }

  /** @returns `false` when a run is in flight, which a rollback may have to undo */
  prune(): boolean {
    if (!this.#store.runs.queue.isEmpty) return false;
    this.#store.transaction(() => {
      this.#store.keepLatest();
      this.#store.thread.markPruned();
    });
    return true;
  }

  #isGone({ ended_at }: ThreadHeader): boolean {
    if (ended_at === null) return false;
    if (this.#store.webhooks.hasPending) return false;
    const { traces, thread } = this.#store;
    const delay = traces.hasPending || thread.listing.isPublished ? MAX_DELETION_DELAY_MS : 0;
    return ended_at + this.#gracePeriodMs() + delay <= Date.now();
  }

  #gracePeriodMs(): number {
    const { runs, thread } = this.#store;
    const isRepeatable = thread.outline().metadata.cron_id !== undefined || runs.hasKeyed();
    return isRepeatable ? REPEAT_GRACE_PERIOD_MS : GRACE_PERIOD_MS;
  }

  /**
   * Flushes the webhooks before a thread is deleted by request, and delivers its traces when they exceed the
   * memory limit.
   */
  async flushBeforeDeletion(): Promise<void> {
    while (this.#store.exists && this.#store.webhooks.hasPending) await this.#webhooks.flush();
    if (this.#store.exists && !this.#store.traces.pages().isWhole) await this.#deliver();
  }

  /** Delivers the remaining traces from memory, without waiting for them. */
  async deleteAll(header: ThreadHeader) {
    const { pages, isWhole } = this.#store.traces.pages();
    if (!isWhole)
      log.warn("traces_dropped", { thread_id: header.thread_id, error: "too many to hold" });
    this.#deletedThread = header;
    for (const page of pages) this.deliverOrphans(page);
    const { isPublished } = this.#store.thread.listing;
    await this.#store.deleteAll();
    this.#alarmAt = null;
    if (!header.temporary || isPublished) await forgetThread(this.#env, header);
  }

  /** Delivers traces of a deleted thread from memory, with a few retries. */
  deliverOrphans(traces: TraceRow[]) {
    const header = this.#deletedThread;
    if (!header) return;
    const attempt = (left: number): Promise<void> =>
      deliver(this.#env, header, traces).catch((error: unknown) =>
        left > 0 ? attempt(left - 1) : log.error("traces_not_delivered", error),
      );
    this.#ctx.waitUntil(attempt(2));
  }

  #nextWake(): number | null {
    const { runs, thread, events } = this.#store;
    const ended_at = thread.endedAt();
    // A run that is due but queued starts when the run before ends.
    const due = runs.queue.nextDue();
    const now = Date.now();
    return nextWake([
      this.#loop.isLive ? now + HEARTBEAT_MS : null,
      due !== null && due > now ? due : null,
      ended_at === null ? null : ended_at + this.#gracePeriodMs(),
      this.#expiresAt(),
      events.hasEvents ? now + EVENT_RETENTION_MS : null,
      this.#webhooks.wake,
      this.#traces.wake,
      this.#directory.wake,
    ]);
  }

  /** Delivers traces before their retry is due too. */
  #deliver(): Promise<void> {
    return this.#traces.flush().catch(() => undefined);
  }

  #expireEvents() {
    const { runs, events } = this.#store;
    let areUnused = false;
    for (const run_id of runs.endedBefore(Date.now() - EVENT_RETENTION_MS)) {
      this.#store.transaction(() => {
        areUnused = events.deleteOf(run_id) || areUnused;
        runs.markEventsDeleted(run_id);
      });
    }
    if (areUnused) events.dropUnused();
  }

  /** Resolves when the directory is current or unavailable. */
  publish(): Promise<void> {
    return this.#directory.publish();
  }
}
