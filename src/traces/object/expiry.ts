import { type ExpiringTraces, type ExpiryTier, TraceTiers } from "../reads/tiers.ts";
import type { PartitionStore } from "../storage/partition.ts";
import type { PartitionReads } from "./partition-reads.ts";

/** `keep`: traces that have longer-lived runs in other partitions. */
export type ExpiryRequest = { tier: ExpiryTier; keep: string[] };

/**
 * `runs`: number of deleted runs, 0 when no more expire. `seq`: newest sequence after their deletion. `is_empty`:
 * whether neither runs nor feedback remain.
 */
export type ExpiredTraces = {
  runs: number;
  seq: number;
  is_empty: boolean;
  has_leftovers: boolean;
};

/** Deletes traces by their tiers. */
export class PartitionExpiry {
  readonly #store: PartitionStore;
  readonly #reads: PartitionReads;

  constructor(store: PartitionStore, reads: PartitionReads) {
    this.#store = store;
    this.#reads = reads;
  }

  /** Returns traces to delete. `far`: those that began on another day or may have, whose partition is to be read too. */
  list(tier: ExpiryTier): ExpiringTraces {
    const nothing = { trace_ids: [], far: [], is_all: true };
    return this.#withTiers(nothing, (tiers) => tiers.expiring(tier));
  }

  /** Returns the long-lived ones of the traces. `null`: of all traces here that began on another day or may have. */
  longlived(trace_ids: string[] | null): string[] {
    return this.#withTiers([], (tiers) => tiers.longlived(trace_ids));
  }

  /**
   * Deletes expiring traces, of which it reads the tiers again: a trace that was extended since it was listed is kept.
   */
  expire(day: string, { tier, keep }: ExpiryRequest): ExpiredTraces {
    const kept = new Set(keep);
    const { trace_ids, is_all } = this.list(tier);
    const expired = trace_ids.filter((id) => !kept.has(id));
    const runs =
      is_all && expired.length === trace_ids.length
        ? this.#deleteAll()
        : this.#deleteTraces(day, expired);
    const { exists, counts } = this.#store;
    return {
      runs,
      seq: counts.current.seq,
      is_empty: this.#isEmpty,
      has_leftovers: exists && !this.#store.leftovers.isEmpty,
    };
  }

  #deleteTraces(day: string, trace_ids: string[]): number {
    return trace_ids.length === 0 ? 0 : this.#store.deleteTraces(day, trace_ids);
  }

  #deleteAll(): number {
    if (this.#isEmpty) return 0;
    const { rows } = this.#store.counts.current;
    this.#store.deleteAllRuns();
    return rows;
  }

  get #isEmpty(): boolean {
    const { exists, counts, feedback } = this.#store;
    return !exists || (counts.current.rows === 0 && feedback.isEmpty);
  }

  #withTiers<T>(nothing: T, work: (tiers: TraceTiers) => T): T {
    return this.#reads.read(nothing, (reader) =>
      work(new TraceTiers(reader, this.#store.feedback.extendedRuns())),
    );
  }
}
