import type { LateCancellation } from "../contract/records.ts";
import type { StatusCounts } from "./counts.ts";
import type { DirectoryEntry, DirectoryKey } from "./entry.ts";
import type { DirectoryFilter, DirectoryQuery, DirectoryRow, WaitingPosition } from "./search.ts";

/** An entry that may already be in the directory, or a removal of entries up to `seq`. */
export type DirectoryChange = DirectoryEntry | DirectoryRemoval;
export type DirectoryRemoval = DirectoryKey & { is_removed: true };

/** `generation`: the last one of the directory, as far as the object knows. The root knows it. */
export type GenerationInfo = { generation: number };
/**
 * `outdated`: entries that are refused for their age. `refused`: new threads that belong to `generation`.
 * `cancellations` are for all busy threads of the call.
 */
export type PublishResult = {
  outdated: number;
  refused: string[];
  cancellations: LateCancellation[];
} & GenerationInfo;
/** `isCut`: more rows match than one message of RPC has. */
export type DirectoryPage = { rows: DirectoryRow[]; isCut: boolean } & GenerationInfo;
export type WaitingPage = { rows: WaitingPosition[]; total: number } & GenerationInfo;
/** `later`: by the alarm. `used`: it has threads. */
export type DirectoryEnd = "ended" | "later" | "used";

/** Methods of an object of a directory. `workspace_id`: of the caller, `null` for internal callers. */
export interface DirectoryCalls {
  /** Everything may arrive twice and in any order. The changes are of one object. */
  publish(changes: DirectoryChange[]): Promise<PublishResult>;
  /** Cancels runs in threads that are published later. */
  cancelLate(workspace_id: string, cancellation: LateCancellation): Promise<GenerationInfo>;
  /** Begins a generation of objects for new threads. It never returns to an earlier one. */
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
   * Deletes an object of a deployment that is deleted. While it has removals, an entry may arrive that would create it
   * again: its alarm deletes it later. The root deletes the others before itself.
   */
  deleteDirectory(deployment_id: string, slot: number): Promise<DirectoryEnd>;
}
