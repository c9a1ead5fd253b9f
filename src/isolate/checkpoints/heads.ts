import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import type { LoadedCheckpoint, StoredValue, StoredWrite } from "../checkpoint-contract.ts";
import type { Op } from "../contract.ts";
import { mergeWrites } from "./pending-writes.ts";

/**
 * Larger checkpoints are read from the thread again: a run would hold their bytes beside the objects that the graph
 * made of them, of 128 MB.
 */
const MAX_CACHED_BYTES = 1024 * 1024;
/** Limit of all namespaces: each call of a subgraph has one, which nothing reads once the call is over. */
const MAX_ALL_BYTES = 4 * MAX_CACHED_BYTES;
/** Memory that a checkpoint takes beside its values. */
const HEAD_BYTES = 1024;

/** The newest checkpoint of each namespace, `null` when it is known to have none. */
export class Heads {
  /** In the order of their last change: the limit drops from the beginning. */
  readonly #heads = new Map<string, LoadedCheckpoint | null>();
  #bytes = 0;
  /** Namespaces whose newest checkpoint is read from the thread: it is too large, or continues an older one. */
  readonly #released = new Set<string>();
  /** Writes that LangGraph puts before their checkpoint, as with durability "exit", by namespace and checkpoint. */
  readonly #early = new Map<string, Map<string, StoredWrite[]>>();

  /** Whether the newest checkpoint of the namespace was read or put, though it may not be in the cache. */
  has(ns: string): boolean {
    return this.#heads.has(ns) || this.#released.has(ns);
  }

  get(ns: string): LoadedCheckpoint | null | undefined {
    return this.#heads.get(ns);
  }

  set(ns: string, loaded: LoadedCheckpoint | null) {
    this.#drop(ns);
    this.#heads.set(ns, loaded);
    this.#bytes += bytesOf(loaded);
    for (const [oldest] of this.#heads) {
      if (this.#bytes <= MAX_ALL_BYTES) return;
      if (oldest !== "" && oldest !== ns) this.#release(oldest);
    }
  }

  #drop(ns: string) {
    this.#bytes -= bytesOf(this.#heads.get(ns));
    this.#heads.delete(ns);
  }

  #release(ns: string) {
    this.#released.add(ns);
    this.#drop(ns);
  }

  /** Adds a checkpoint, which may be older than the newest one. */
  put(loaded: LoadedCheckpoint) {
    const head = this.#heads.get(loaded.ns);
    if (head && head.checkpoint_id >= loaded.checkpoint_id) return;
    // Unchanged channels have the values of its parent, of which only the head is known.
    if ((head?.checkpoint_id ?? null) !== loaded.parent_id) this.#released.add(loaded.ns);
    const writes = this.#early.get(loaded.ns)?.get(loaded.checkpoint_id) ?? loaded.writes;
    this.#early.delete(loaded.ns);
    this.set(loaded.ns, { ...loaded, writes });
    this.releaseLarge(loaded.ns);
  }

  /** Drops a large checkpoint from the cache, and all that follow it: they would lack its values. */
  releaseLarge(ns: string) {
    const isLarge = bytesOf(this.#heads.get(ns)) > MAX_CACHED_BYTES;
    if (isLarge || this.#released.has(ns)) this.#release(ns);
  }

  addWrites({ ns, checkpoint_id, writes }: Op & { op: "writes" }) {
    const head = this.#heads.get(ns);
    if (head?.checkpoint_id === checkpoint_id) head.writes = mergeWrites(head.writes, writes);
    else if (!this.#released.has(ns) && !(head && head.checkpoint_id > checkpoint_id)) {
      const early = this.#early.get(ns) ?? new Map<string, StoredWrite[]>();
      this.#early.set(ns, early);
      early.set(checkpoint_id, mergeWrites(early.get(checkpoint_id) ?? [], writes));
    }
  }

  /** Returns the values of a new checkpoint. Unchanged channels keep the bytes of the previous one. */
  collectValues(ns: string, checkpoint: Checkpoint, changed: StoredValue[]): StoredValue[] {
    const known = new Map(
      (this.#heads.get(ns)?.values ?? []).map((value) => [valueKey(value), value]),
    );
    for (const value of changed) known.set(valueKey(value), value);
    return Object.entries(checkpoint.channel_versions).flatMap(([channel, version]) => {
      const value = known.get(valueKey({ channel, version }));
      return value && channel in checkpoint.channel_values ? [value] : [];
    });
  }
}

function bytesOf(head: LoadedCheckpoint | null | undefined): number {
  if (head === undefined) return 0;
  return (head?.values ?? []).reduce((sum, { data }) => sum + data.length, HEAD_BYTES);
}

function valueKey(value: { channel: string; version: number | string }): string {
  return `${value.channel} ${value.version}`;
}
