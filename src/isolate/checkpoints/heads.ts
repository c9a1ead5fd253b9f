import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import type { LoadedCheckpoint, StoredValue } from "../checkpoint-contract.ts";
import type { Op } from "../contract.ts";
import { PendingWrites } from "./pending-writes.ts";

/**
 * Larger checkpoints are not cached, but read from the thread again: an isolate has 128 MB, and the graph has objects
 * made of the same values.
 */
const MAX_CACHED_BYTES = 1024 * 1024;
/** Limit of the whole cache: each call of a subgraph has a namespace, which mostly nothing reads after the call. */
const MAX_ALL_BYTES = 4 * MAX_CACHED_BYTES;
/** Maximum number of namespaces in `#released`. */
const MAX_RELEASED = 20_000;
/** Memory that a checkpoint takes beside its values. */
const HEAD_BYTES = 1024;

/** A checkpoint with its pending writes, to which each task of a step adds. */
type Head = { loaded: Omit<LoadedCheckpoint, "writes">; writes: PendingWrites; bytes: number };

/** Caches the newest checkpoint of each namespace, `null` for a namespace that has none. */
export class Heads {
  /** In the order of their last change: the oldest is dropped first. */
  readonly #heads = new Map<string, Head | null>();
  #bytes = 0;
  /**
   * Namespaces whose newest checkpoint is read from the thread: it is too large, was dropped, or does not follow the
   * cached one.
   */
  readonly #released = new Set<string>();
  /** Whether `#released` was cleared because it was full. */
  #hasForgotten = false;
  /** Writes that LangGraph puts before their checkpoint, as with durability "exit", by namespace and checkpoint. */
  readonly #early = new Map<string, Map<string, PendingWrites>>();

  /** Whether a checkpoint of the namespace was, or may have been, looked up or put. The cache may have dropped it. */
  has(ns: string): boolean {
    return this.#heads.has(ns) || this.#released.has(ns) || this.#hasForgotten;
  }

  get(ns: string): LoadedCheckpoint | null | undefined {
    const head = this.#heads.get(ns);
    return head && { ...head.loaded, writes: head.writes.toArray() };
  }

  set(ns: string, loaded: LoadedCheckpoint | null) {
    this.#setHead(ns, loaded && toHead(loaded, new PendingWrites(loaded.writes)));
  }

  #setHead(ns: string, head: Head | null) {
    this.#drop(ns);
    this.#heads.set(ns, head);
    this.#bytes += bytesOf(head);
    this.#releaseOldest(ns);
  }

  /** Drops the oldest namespaces, except the root and the current one, until the cache is within its limit. */
  #releaseOldest(current: string) {
    if (this.#bytes <= MAX_ALL_BYTES) return;
    for (const oldest of [...this.#heads.keys(), ...this.#early.keys()]) {
      if (this.#bytes <= MAX_ALL_BYTES) return;
      if (oldest !== "" && oldest !== current) this.#release(oldest);
    }
  }

  #drop(ns: string) {
    this.#bytes -= bytesOf(this.#heads.get(ns));
    this.#heads.delete(ns);
  }

  #release(ns: string) {
    if (this.#released.size >= MAX_RELEASED) {
      this.#released.clear();
      this.#hasForgotten = true;
    }
    this.#released.add(ns);
    this.#drop(ns);
    this.#dropEarly(ns);
  }

  /** Caches a checkpoint that is newer than the cached one, unless it is large or its namespace is released. */
  put(loaded: LoadedCheckpoint) {
    const { ns, checkpoint_id, parent_id } = loaded;
    const newest = this.#heads.get(ns)?.loaded.checkpoint_id ?? null;
    if (newest !== null && newest >= checkpoint_id) return;
    // The unchanged channels of a checkpoint have the values of its parent. The cache has only those of the newest.
    if (newest !== parent_id) this.#released.add(ns);
    const early = this.#early.get(ns)?.get(checkpoint_id);
    this.#dropEarly(ns);
    this.#setHead(ns, toHead(loaded, early ?? new PendingWrites(loaded.writes)));
    this.releaseLarge(ns);
  }

  #dropEarly(ns: string) {
    for (const { bytes } of this.#early.get(ns)?.values() ?? []) this.#bytes -= bytes;
    this.#early.delete(ns);
  }

  /** Drops a large checkpoint, and each later one of a released namespace: its unchanged values would be missing. */
  releaseLarge(ns: string) {
    const isLarge = bytesOf(this.#heads.get(ns)) > MAX_CACHED_BYTES;
    if (isLarge || this.#released.has(ns)) this.#release(ns);
  }

  addWrites({ ns, checkpoint_id, writes }: Op & { op: "writes" }) {
    const pending = this.#pendingAt(ns, checkpoint_id);
    if (!pending) return;
    const before = pending.bytes;
    pending.add(writes);
    this.#bytes += pending.bytes - before;
    if (pending.bytes > MAX_CACHED_BYTES) this.#release(ns);
    this.releaseLarge(ns);
    this.#releaseOldest(ns);
  }

  /** @returns `undefined` for a checkpoint of a released namespace, and for one older than the newest */
  #pendingAt(ns: string, checkpoint_id: string): PendingWrites | undefined {
    const head = this.#heads.get(ns);
    const newest = head?.loaded.checkpoint_id;
    if (head && newest === checkpoint_id) return head.writes;
    if (this.#released.has(ns) || (newest !== undefined && newest > checkpoint_id))
      return undefined;
    const early = this.#early.get(ns) ?? new Map<string, PendingWrites>();
    this.#early.set(ns, early);
    const pending = early.get(checkpoint_id) ?? new PendingWrites();
    early.set(checkpoint_id, pending);
    return pending;
  }

  /**
   * Returns the values of a new checkpoint: changed ones, and those of the cached checkpoint for unchanged channels.
   */
  collectValues(ns: string, checkpoint: Checkpoint, changed: StoredValue[]): StoredValue[] {
    const known = new Map(
      (this.#heads.get(ns)?.loaded.values ?? []).map((value) => [valueKey(value), value]),
    );
    for (const value of changed) known.set(valueKey(value), value);
    return Object.entries(checkpoint.channel_versions).flatMap(([channel, version]) => {
      const value = known.get(valueKey({ channel, version }));
      return value && channel in checkpoint.channel_values ? [value] : [];
    });
  }
}

function toHead({ writes: _writes, ...loaded }: LoadedCheckpoint, writes: PendingWrites): Head {
  const bytes = loaded.values.reduce((sum, { data }) => sum + data.length, HEAD_BYTES);
  return { loaded, writes, bytes };
}

function bytesOf(head: Head | null | undefined): number {
  if (head === undefined) return 0;
  return head === null ? HEAD_BYTES : head.bytes + head.writes.bytes;
}

function valueKey(value: { channel: string; version: number | string }): string {
  return `${value.channel} ${value.version}`;
}
