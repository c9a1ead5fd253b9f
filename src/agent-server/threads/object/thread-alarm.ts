import { log } from "../../../shared/log.ts";
import type { TraceRow } from "../boundary/trace-texts.ts";
import { forgetThread } from "../directory/directory.ts";
import type { RunLoop } from "../loop/run-loop.ts";
import { nextWake } from "../runs.ts";
import type { ThreadStore } from "../storage/store.ts";
import type { ThreadHeader } from "../storage/thread-rows.ts";
import { DirectoryOutbox } from "./directory-outbox.ts";
import { deliver, deliverTraces } from "./trace-delivery.ts";
import { WebhookOutbox } from "./webhook-outbox.ts";

/** A beat while a run is live keeps the object awake and finds a dead attempt within seconds. */
const HEARTBEAT_MS = 15_000;
/** How long the events of a run that is over can still be read. */
const EVENT_RETENTION_MS = 24 * 60 * 60 * 1000;
/** A temporary thread is gone for its callers when its run ends; its readers may still catch up. */
const GRACE_PERIOD_MS = 2 * 60 * 1000;
/** The run of a cron may be ordered again by a clock that was away meanwhile, and must be found to have been. */
const CRON_GRACE_PERIOD_MS = 24 * 60 * 60 * 1000;
/** What traces were told in one moment is delivered as one. */
const DELIVER_DELAY_MS = 300;
/** As long as a beat: the alarm of the run that made the news serves both. */
const RETRY_MS = HEARTBEAT_MS;
/** What a thread that goes away has still to tell may hold it back so long, should nobody take it. */
const MAX_DELETION_DELAY_MS = 60 * 60 * 1000;

/** What a thread does by the clock: beat, expire, tell the directory, go away. */
export class ThreadAlarm {
  readonly #ctx: DurableObjectState;
  readonly #env: Env;
  readonly #store: ThreadStore;
  readonly #loop: RunLoop;
  #alarmAt: number | null = null;
  #delivering: Promise<void> | null = null;
  #isDeliveryDue = false;
  #deliverAfter = 0;
  /** Of the thread that was here last. */
  #deletedThread: ThreadHeader | null = null;
  readonly #webhooks: WebhookOutbox;
  readonly #directory: DirectoryOutbox;

  constructor(ctx: DurableObjectState, env: Env, store: ThreadStore, loop: RunLoop) {
    this.#ctx = ctx;
    this.#env = env;
    this.#store = store;
    this.#loop = loop;
    this.#webhooks = new WebhookOutbox(env, store);
    const onTold = () => this.arm();
    this.#directory = new DirectoryOutbox(env, store, { retry_ms: RETRY_MS, onTold });
  }

  /** Makes sure that an alarm comes in time. */
  arm() {
    if (!this.#store.exists) return;
    const wake = this.#nextWake();
    if (wake !== null && this.#isWrongFor(wake)) {
      this.#alarmAt = wake;
      void this.#ctx.storage.setAlarm(wake);
    }
    this.#webhooks.handOverSoon();
    this.#directory.publishSoon();
    if (!this.#isDeliveryDue && this.#delivering === null && this.#mayDeliver()) {
      this.#isDeliveryDue = true;
      setTimeout(() => this.#deliver(), DELIVER_DELAY_MS);
    }
  }

  // One that comes too soon re-arms itself. After the last run it would only wake a thread that sleeps.
  #isWrongFor(wake: number): boolean {
    if (this.#alarmAt === null || wake < this.#alarmAt) return true;
    return !this.#loop.isLive && wake > this.#alarmAt + HEARTBEAT_MS;
  }

  async handle() {
    this.#alarmAt = null;
    this.#loop.advance();
    await this.#deliver();
    await this.publish();
    // Meanwhile the thread may have been deleted.
    if (!this.#store.exists) return;
    this.#webhooks.handOverSoon();
    const place = this.#store.thread.header();
    if (this.#isGone(place)) return this.deleteAll(place);
    this.#expireEvents();
    if (this.#isOutlived()) this.prune();
    this.arm();
  }

  /** Whether the thread has outlived its time and is to be deleted. */
  get isExpired(): boolean {
    return this.#isOutlived() && this.#store.thread.ttl?.strategy === "delete";
  }

  #isOutlived(): boolean {
    const expires_at = this.#expiresAt();
    return expires_at !== null && expires_at <= Date.now();
  }

  // Not while a run is under way, nor before one that is to come.
  #expiresAt(): number | null {
    const { runs, thread } = this.#store;
    return runs.inFlight().length > 0 ? null : thread.expiresAt();
  }

  /** Forgets the past; the latest state stays. False: a run is under way, and may have to be undone. */
  prune(): boolean {
    if (this.#store.runs.inFlight().length > 0) return false;
    this.#store.transaction(() => {
      this.#store.keepLatest();
      this.#store.thread.markPruned();
    });
    return true;
  }

  #isGone({ ended_at }: ThreadHeader): boolean {
    if (ended_at === null) return false;
    if (this.#store.webhooks.areWaiting) return false;
    const { traces, thread } = this.#store;
    const held = traces.areWaiting || thread.isInDirectory ? MAX_DELETION_DELAY_MS : 0;
    return ended_at + this.#gracePeriodMs() + held <= Date.now();
  }

  #gracePeriodMs(): number {
    return this.#store.thread.outline().metadata.cron_id === undefined
      ? GRACE_PERIOD_MS
      : CRON_GRACE_PERIOD_MS;
  }

  /**
   * Before a thread is deleted by request: keeps its webhooks elsewhere, and delivers traces that are too many
   * to be held in memory.
   */
  async handOver(): Promise<void> {
    while (this.#store.exists && this.#store.webhooks.areWaiting) await this.#webhooks.handOver();
    if (this.#store.exists && !this.#store.traces.pages().isWhole) await this.#deliver();
  }

  /** Its traces stay: who deletes a thread right after its run still has its trace, and waits for none of it. */
  async deleteAll(place: ThreadHeader) {
    const { pages, isWhole } = this.#store.traces.pages();
    if (!isWhole)
      log.warn("traces_dropped", { thread_id: place.thread_id, error: "too many to hold" });
    this.#deletedThread = place;
    for (const page of pages) this.deliverOrphans(page);
    const { isInDirectory } = this.#store.thread;
    await this.#store.deleteAll();
    this.#alarmAt = null;
    if (!place.temporary || isInDirectory) await forgetThread(this.#env, place);
  }

  /** What has no outbox any more: tried from memory, a few times. */
  deliverOrphans(traces: TraceRow[]) {
    const place = this.#deletedThread;
    if (!place) return;
    const attempt = (left: number): Promise<void> =>
      deliver(this.#env, place, traces).catch((error: unknown) =>
        left > 0 ? attempt(left - 1) : log.error("traces_not_delivered", error),
      );
    this.#ctx.waitUntil(attempt(2));
  }

  #nextWake(): number | null {
    const { runs, thread, events, traces } = this.#store;
    const ended_at = thread.endedAt();
    // A run that is due and still waits for another starts when that one ends, not by the clock.
    const due = runs.nextDue();
    const now = Date.now();
    return nextWake([
      this.#loop.isLive ? now + HEARTBEAT_MS : null,
      due !== null && due > now ? due : null,
      ended_at === null ? null : ended_at + this.#gracePeriodMs(),
      this.#expiresAt(),
      events.areKept ? now + EVENT_RETENTION_MS : null,
      this.#webhooks.wake,
      traces.areWaiting ? now + RETRY_MS : null,
      this.#directory.wake,
    ]);
  }

  #mayDeliver(): boolean {
    return Date.now() >= this.#deliverAfter && this.#store.traces.areWaiting;
  }

  #deliver(): Promise<void> {
    this.#isDeliveryDue = false;
    this.#delivering ??= deliverTraces(this.#env, this.#store)
      .catch((error: unknown) => {
        log.error("traces_not_delivered", error);
        this.#deliverAfter = Date.now() + RETRY_MS;
      })
      .finally(() => {
        this.#delivering = null;
        this.arm();
      });
    return this.#delivering;
  }

  #expireEvents() {
    const { runs, events } = this.#store;
    let areUnused = false;
    for (const run_id of runs.endedBefore(Date.now() - EVENT_RETENTION_MS)) {
      this.#store.transaction(() => {
        areUnused = events.deleteOf(run_id) || areUnused;
        runs.forgetEvents(run_id);
      });
    }
    if (areUnused) events.dropUnused();
  }

  /** Tells the directory, and resolves when it has heard all or could not be reached. */
  publish(): Promise<void> {
    return this.#directory.publish();
  }
}
