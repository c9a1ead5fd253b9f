import type { LateCancellation } from "../contract/records.ts";
import type { StatusCounts } from "./counts.ts";
import type { DirectoryEntry, DirectoryKey } from "./entry.ts";
import type { DirectoryFilter, DirectoryQuery, DirectoryRow, WaitingPosition } from "./search.ts";

/** An entry, or the removal of a thread's entry up to `seq`. */
export type DirectoryChange = DirectoryEntry | DirectoryRemoval;
export type DirectoryRemoval = DirectoryKey & { is_removed: true };

/**
 * `generation`: the last one of the directory. Only the root always knows it: other objects may return an earlier one.
 */
export type GenerationInfo = { generation: number };
/**
 * `outdated`: number of entries that are refused for their age. `refused`: ids of new threads that an object of
 * `generation` must list. `cancellations`: apply to all busy threads of the call.
 */
export type PublishResult = {
  outdated: number;
  refused: string[];
  cancellations: LateCancellation[];
} & GenerationInfo;
/** `isCut`: more rows match than one RPC message may have. */
export type DirectoryPage = { rows: DirectoryRow[]; isCut: boolean } & GenerationInfo;
export type WaitingPage = { rows: WaitingPosition[]; total: number } & GenerationInfo;
/**
 * Outcome of a deletion. `later`: the alarm of the object repeats it. `used`: the object is not deleted, because it, or
 * an object that it deletes first, still has threads.
 */
export type DirectoryEnd = "ended" | "later" | "used";

/** Methods of an object of a directory. `workspace_id`: the caller's, `null` for internal callers. */
export interface DirectoryCalls {
  /** Applies changes, which may arrive twice and in any order. All of them are for this object. */
  publish(changes: DirectoryChange[]): Promise<PublishResult>;
  /** Cancels runs in threads that are published later. */
  cancelLate(workspace_id: string, cancellation: LateCancellation): Promise<GenerationInfo>;
  /**
   * Begins a generation of objects for new threads, unless it or a later one has begun.
   * @returns the current generation
   */
  grow(workspace_id: string, generation: number): Promise<number>;
  find(workspace_id: string | null, query: DirectoryQuery): Promise<DirectoryPage>;
  count(
    workspace_id: string | null,
    filter: DirectoryFilter,
  ): Promise<StatusCounts & GenerationInfo>;
  findWaiting(
    workspace_id: string,
    after: WaitingPosition | null,
    limit: number,
  ): Promise<WaitingPage>;
  /**
   * Deletes an object of a deployment that is being deleted. While the object keeps removals, an older entry may
   * arrive, and would create a deleted object again: the alarm then deletes the object later. The root deletes the
   * others first.
   */
  deleteDirectory(deployment_id: string, slot: number): Promise<DirectoryEnd>;
}
