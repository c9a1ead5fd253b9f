import { and, lte, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { DAY_US, dayOf, nowMicros } from "../../shared/times.ts";
import { runAlarm } from "../../shared/work/alarm.ts";
import type { TraceTotals } from "../aggregates/stats.ts";
import { isPartition } from "../catalogue/catalogue.ts";
import { partitions } from "../catalogue/table.ts";
import type { PartitionKey } from "../changes.ts";
import { flushDelayMs, flushPauseMs } from "../locations/generations.ts";
import type { ColdStorage } from "../storage/cold-storage.ts";
import type { CatalogueCounts } from "../storage/counts.ts";
import type { PartitionStore } from "../storage/partition.ts";
import { removeLeftovers } from "./leftovers.ts";

/** Pause between two alarms while leftovers or dead versions remain. */
const CLEAN_MS = 1000;
/** Time without changes after which the totals are written to the catalogue and the object is compacted. */
const QUIET_MS = 60_000;
/** Time after which an alarm begins no further step of compaction. */
const COMPACT_MS = 20_000;
const KEY = "partition";

/** Bytes of the object, and of its files in R2. */
type Sizes = { bytes: number; file_bytes: number };

/**
 * Alarm that writes a partition's counts and totals to the catalogue, deletes leftovers, drops dead versions
 * of runs and moves bodies to R2.
 */
export class Flush {
  readonly #env: Env;
  readonly #storage: DurableObjectStorage;
  readonly #store: PartitionStore;
  readonly #cold: ColdStorage;
  readonly #totals: () => TraceTotals;
  /** Whether an alarm for a change or for a retry is set, and has not run. */
  #isScheduled = false;
  #flushed_at = 0;

  constructor(
    env: Env,
    storage: DurableObjectStorage,
    store: PartitionStore,
    cold: ColdStorage,
    totals: () => TraceTotals,
  ) {
    this.#env = env;
    this.#storage = storage;
    this.#store = store;
    this.#cold = cold;
    this.#totals = totals;
  }

  /** Changes the partition and sets the alarm, without an await between them. */
  async change<T>(
    partition: PartitionKey,
    work: () => T,
    isChanged: (result: T) => boolean = () => true,
  ): Promise<T> {
    const { result, scheduled } = await this.#cold.attempt(() => {
      const changed = work();
      const isDue = isChanged(changed);
      return { result: changed, scheduled: isDue ? this.schedule(partition) : null };
    });
    await scheduled;
    return result;
  }

  /** Sets the alarm without an await before it, so that it commits with the rows. */
  async schedule(partition: PartitionKey): Promise<void> {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#storage.kv.get(KEY) === undefined) this.#storage.kv.put(KEY, partition);
    const { slot } = partition;
    const at = Math.max(Date.now() + flushDelayMs(slot), this.#flushed_at + flushPauseMs(slot));
    await this.#storage.setAlarm(at);
  }

  /** Sets the alarm for the next work of an idle partition, or deletes it. */
  async setIdleAlarm(): Promise<void> {
    const partition = this.#storage.kv.get<PartitionKey>(KEY);
    if (!partition || !this.#store.exists) return;
    const times = [this.#store.sealed.nextExpiry, this.#cold.nextAt(partition)];
    const at = Math.min(...times.map((time) => time ?? Infinity));
    if (at === Infinity) await this.#storage.deleteAlarm();
    else await this.#storage.setAlarm(at);
  }

  /** Runs the alarm. After a failure, a change does not set the alarm earlier: pauses grow during an outage. */
  async run(): Promise<void> {
    this.#isScheduled = false;
    const isDone = await runAlarm(this.#storage, "TracePartition", () => this.#flush());
    if (!isDone) this.#isScheduled = true;
  }

  /** Lets the next change set an alarm again, after the alarm was deleted with the storage. */
  reset(): void {
    this.#isScheduled = false;
  }

  async #flush(): Promise<void> {
    const partition = this.#storage.kv.get<PartitionKey>(KEY);
    if (!partition || !this.#store.exists) return;
    this.#flushed_at = Date.now();
    const { bytes, counts } = this.#store;
    const { seq } = counts.current;
    const isQuiet = Date.now() - seq / 1000 >= QUIET_MS;
    const stats = isQuiet ? this.#totals() : null;
    await writeCounts(this.#env, partition, this.#sizes(), stats);
    this.#store.sealed.dropExpired(Date.now());
    this.#store.segments.cold.forgetUploads();
    const isClean = await removeLeftovers(this.#env, partition, this.#store);
    const isIdle = isQuiet && isClean && (await this.#shrink(partition, bytes));
    if (this.#isScheduled) return;
    if (isIdle) await this.setIdleAlarm();
    else await this.#continueIn(isClean && !isQuiet ? QUIET_MS : CLEAN_MS);
  }

  #sizes(): CatalogueCounts & Sizes {
    const { bytes, counts, segments, sealed } = this.#store;
    return { ...counts.current, bytes, file_bytes: segments.cold.bytes + sealed.bytes };
  }

  async #continueIn(ms: number): Promise<void> {
    if (this.#store.exists) await this.#storage.setAlarm(Date.now() + ms);
  }

  /**
   * Rewrites segments with dead versions until the partition changes. Each step is one transaction.
   *
   * @returns false when some may be left to rewrite
   */
  async #compact(): Promise<boolean> {
    const end = Date.now() + COMPACT_MS;
    const { seq } = this.#store.counts.current;
    while (this.#store.exists && this.#store.compact()) {
      // Calls of the object run between two steps.
      await scheduler.wait(0);
      if (Date.now() >= end || this.#store.counts.current.seq !== seq) return false;
    }
    return true;
  }

  /**
   * Drops dead versions, and moves bodies to R2.
   *
   * @param before size of the object in the catalogue
   * @returns false when some segments may be left to compact
   */
  async #shrink(partition: PartitionKey, before: number): Promise<boolean> {
    const isCompact = await this.#compact();
    if (isCompact) await this.#cold.run(partition);
    const { exists, bytes } = this.#store;
    if (exists && bytes !== before) {
      await writeCounts(this.#env, partition, this.#sizes(), null);
    }
    return isCompact;
  }
}

/** Idempotent: an older count never overwrites a newer one. */
async function writeCounts(
  env: Env,
  partition: PartitionKey,
  counts: CatalogueCounts & Sizes,
  stats: TraceTotals | null,
): Promise<void> {
  const summary = stats === null ? {} : { stats, stats_seq: counts.seq };
  await database(env)
    .update(partitions)
    .set({
      ...counts,
      ...summary,
      ...afterExpiry(partition.day, counts),
      updated_at: new Date().toISOString(),
    })
    .where(and(isPartition(partition), lte(partitions.seq, counts.seq)));
}

/** Makes an older partition expire again once it has changed. Spares the index of newer ones, which cannot have expired. */
function afterExpiry(day: string, { seq }: CatalogueCounts) {
  if (day >= dayOf(nowMicros() - DAY_US)) return {};
  return { expired_seq: sql`case when ${partitions.expired_seq} = ${seq} then ${seq} end` };
}
