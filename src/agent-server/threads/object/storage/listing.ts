import { slotOf } from "../../../../shared/storage/slots.ts";
import { digestText } from "../../contract/digest.ts";
import type { DirectoryEntry, DirectoryKey } from "../../directory/entry.ts";
import type { CachedThreadRow } from "./cached-thread-row.ts";

/** Age at which a temporary thread gets an entry in the directory. One that ends sooner costs no write. */
const LIST_AFTER_MS = 1000;

/**
 * The entry of the thread in the directory, and whether it is current. The mark `directory_sent` is the `seq` of the
 * entry that the directory has, `null` when it has none. It is 0 while the entry of a temporary thread is written.
 */
export class ThreadListing {
  readonly #row: CachedThreadRow;
  readonly #valuesText: () => string | null;
  /** Whether a mark was written, or the thread was created, since the last restart. */
  #hasStoredMark = false;
  #digested: { at: string; digest: string } | null = null;

  constructor(row: CachedThreadRow, valuesText: () => string | null) {
    this.#row = row;
    this.#valuesText = valuesText;
  }

  /** Whether the entry must be written, or removed. A temporary thread has one entry, while its run is under way. */
  get isStale(): boolean {
    const { temporary, ended_at, status, directory_seq, directory_sent } = this.#row.get();
    if (temporary === 0) return (directory_sent ?? 0) < directory_seq;
    // Once it has ended, an entry that was published is to be removed.
    return ended_at === null ? status === "busy" && !directory_sent : directory_sent !== null;
  }

  get key(): DirectoryKey {
    const { deployment_id, thread_id, directory_slot, directory_seq } = this.#row.get();
    return { deployment_id, thread_id, slot: directory_slot, seq: directory_seq };
  }

  /** Whether the directory has, or may have, an entry. */
  get isPublished(): boolean {
    return this.#row.get().directory_sent !== null;
  }

  /**
   * Earliest publication in epoch milliseconds. `null` for threads that are not temporary: they have no minimum age.
   */
  get dueAt(): number | null {
    const { temporary, created_at } = this.#row.get();
    return temporary === 0 ? null : Date.parse(created_at) + LIST_AFTER_MS;
  }

  /** @returns `null` when the directory is current */
  directoryEntry(): DirectoryEntry | null {
    if (!this.isStale) return null;
    const row = this.#row.get();
    const { thread_id, deployment_id, workspace_id, created_at, updated_at, state_updated_at } =
      row;
    return {
      ...{ thread_id, deployment_id, workspace_id, created_at, updated_at, state_updated_at },
      ...{ status: row.status, metadata: row.metadata, digest: this.#digest() },
      is_waiting: row.status === "interrupted" && row.is_stopped === 0 ? 1 : 0,
      ...{ seq: row.directory_seq, slot: row.directory_slot, is_temporary: row.temporary },
      read_at: Date.now(),
    };
  }

  // Values change less often than the directory entry.
  #digest(): string | null {
    const { state_updated_at } = this.#row.get();
    if (state_updated_at === null) return null;
    if (this.#digested?.at !== state_updated_at) {
      const digest = JSON.stringify(digestText(this.#valuesText() ?? "{}"));
      this.#digested = { at: state_updated_at, digest };
    }
    return this.#digested.digest;
  }

  /** `seq` of the entry that was written, `0` before a write, `null` after a removal. */
  markPublished(seq: number | null) {
    this.#row.set({ directory_sent: seq });
    this.#hasStoredMark = true;
  }

  /**
   * Whether a mark may wait for the next change of the thread. The first one after a restart may not: an idle
   * thread would be published again after each.
   */
  get canMarkLater(): boolean {
    return this.#hasStoredMark && this.#row.get().temporary === 0;
  }

  markPublishedLater(seq: number) {
    this.#row.setLater({ directory_sent: seq });
  }

  /** Moves the entry to the object of a later generation: the one that refused it is full. */
  moveTo(generation: number) {
    const { thread_id } = this.#row.get();
    this.#row.set({ directory_slot: slotOf(thread_id, generation) });
  }

  /** The thread is new: a restart before its first change may publish it again. */
  startEmpty() {
    this.#hasStoredMark = true;
  }
}
