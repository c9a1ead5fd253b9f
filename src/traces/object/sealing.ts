import { setEarlierAlarm } from "../../shared/work/alarm.ts";
import type { PartitionKey } from "../changes.ts";
import type { PartitionStore } from "../storage/partition.ts";
import type {
  SealAttempt,
  SealedContents,
  SealedRange,
  SealedRows,
} from "../storage/sealed-files.ts";
import type { Flush } from "./flush.ts";
import { removeSealed } from "./leftovers.ts";

/** `can_seal`: no file has the rows, and the caller may write one. */
export type SealedLookup = SealedRows & { can_seal: boolean };

/** Keeps track of the Parquet files of a partition in R2. */
export class PartitionSealing {
  readonly #env: Env;
  readonly #storage: DurableObjectStorage;
  readonly #store: PartitionStore;
  readonly #flush: Flush;

  constructor(env: Env, storage: DurableObjectStorage, store: PartitionStore, flush: Flush) {
    this.#env = env;
    this.#storage = storage;
    this.#store = store;
    this.#flush = flush;
  }

  find(range: SealedRange, owner: string): SealedLookup {
    if (!this.#store.exists) return { file: null, parts: [], can_seal: false };
    const found = this.#store.sealed.find(range);
    return { ...found, can_seal: found.file === null && this.#canBegin(range, owner) };
  }

  /**
   * @returns false when the partition has changed since the scan was planned, or another owner has a lease on the range
   */
  async begin(partition: PartitionKey, range: SealedRange, attempt: SealAttempt): Promise<boolean> {
    if (!this.#store.exists || !this.#canBegin(range, attempt.owner)) return false;
    this.#store.sealed.begin(range, attempt);
    if (!this.#store.leftovers.isEmpty) await this.#flush.schedule(partition);
    else await setEarlierAlarm(this.#storage, attempt.lease_until);
    return true;
  }

  /** @returns false when the attempt was dropped: by a change, by a later attempt, or after its lease */
  async commit(id: string, contents: SealedContents): Promise<boolean> {
    const { sealed } = this.#store;
    if (!sealed.commit(id, contents)) return false;
    // An alarm at the end of a lease has no work left. Any other one is for a change or for cold bodies, and stays.
    const alarm = await this.#storage.getAlarm();
    if (sealed.nextExpiry === null && sealed.isExpiry(alarm)) await this.#flush.setIdleAlarm();
    return true;
  }

  /** Deletes all files and copies of bodies, before the storage forgets them. */
  async removeAll(): Promise<void> {
    const { sealed, leftovers, segments } = this.#store;
    let areRemoved = false;
    while (this.#store.exists && !(areRemoved && sealed.isEmpty && segments.cold.isEmpty)) {
      sealed.drop();
      segments.cold.forgetAll();
      areRemoved = await removeSealed(this.#env, leftovers);
    }
  }

  /** Any change of the partition advances its sequence. */
  #canBegin(range: SealedRange, owner: string): boolean {
    const { counts, sealed } = this.#store;
    return range.max_seq === counts.current.seq && sealed.canBegin(range, owner, Date.now());
  }
}
