import { digestText } from "../digest.ts";
import type { ThreadRecord } from "../records.ts";
import type { CachedThreadRow } from "./cached-thread-row.ts";

/** A temporary thread whose run ends sooner has no entry in the directory, and costs no write. */
const LIST_AFTER_MS = 1000;

export type DirectoryEntry = Pick<
  ThreadRecord,
  "thread_id" | "created_at" | "updated_at" | "state_updated_at" | "status" | "metadata"
> & {
  deployment_id: string;
  workspace_id: string;
  digest: Record<string, unknown> | null;
  seq: number;
  is_temporary: boolean;
};

/** The entry of the thread in the directory, and whether it is current. */
export class ThreadListing {
  readonly #row: CachedThreadRow;
  readonly #valuesText: () => string | null;
  #digested: { at: string; digest: Record<string, unknown> } | null = null;

  constructor(row: CachedThreadRow, valuesText: () => string | null) {
    this.#row = row;
    this.#valuesText = valuesText;
  }

  /** Whether the directory has an older entry. A temporary thread has one entry, while its run is under way. */
  get isStale(): boolean {
    const { temporary, ended_at, status, directory_seq, directory_sent } = this.#row.get();
    if (temporary === 0) return (directory_sent ?? 0) < directory_seq;
    return ended_at === null ? status === "busy" && !directory_sent : directory_sent !== null;
  }

  /** Whether the directory has, or may have, an entry. */
  get isPublished(): boolean {
    return this.#row.get().directory_sent !== null;
  }

  /** Earliest publication of a busy temporary thread. `null`: every change is published. */
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
      status: row.status,
      metadata: JSON.parse(row.metadata),
      digest: this.#digest(),
      seq: row.directory_seq,
      is_temporary: row.temporary === 1,
    };
  }

  // Values change less often than the directory entry.
  #digest(): Record<string, unknown> | null {
    const { state_updated_at } = this.#row.get();
    if (state_updated_at === null) return null;
    if (this.#digested?.at !== state_updated_at) {
      const digest = digestText(this.#valuesText() ?? "{}");
      this.#digested = { at: state_updated_at, digest };
    }
    return this.#digested.digest;
  }

  /** `seq` of the entry that was written, `0` before a write, `null` after a removal. */
  markPublished(seq: number | null) {
    this.#row.set({ directory_sent: seq });
  }
}
