import type { StoredValue, StoredWrite } from "../../../../isolate/checkpoint-contract.ts";
import type { NewWrite } from "./replaced-writes.ts";

/** Keys of all stored writes of a checkpoint, and the `idx` of its next packed row. */
export type WriteKeys = { keys: Set<string>; nextPackedIdx: number };

/** Minimum keys of a cached checkpoint: the subgraphs of a run may have thousands of checkpoints with fewer writes. */
const MIN_KEYS = 16;
/** Maximum keys of a cached checkpoint. A key takes about 100 bytes. */
const MAX_KEYS = 20_000;
const MAX_CHECKPOINTS = 4;

/**
 * Cache of the keys of stored writes, for the last used checkpoints with many writes. The tasks of a wide fan-out end
 * one by one: without the cache, each end would read the writes of all other tasks.
 */
export class StoredKeys {
  readonly #cached = new Map<string, WriteKeys>();

  clear() {
    this.#cached.clear();
  }

  of(ns: string, checkpoint_id: string, read: () => WriteKeys): WriteKeys {
    const key = keyOfCheckpoint(ns, checkpoint_id);
    const stored = this.#cached.get(key) ?? read();
    // The newest entry is the last one.
    this.#cached.delete(key);
    if (stored.keys.size < MIN_KEYS || stored.keys.size > MAX_KEYS) return stored;
    this.#cached.set(key, stored);
    const [oldest] = this.#cached.keys();
    if (oldest !== undefined && this.#cached.size > MAX_CHECKPOINTS) this.#cached.delete(oldest);
    return stored;
  }

  /** Adds writes that were stored. */
  add(writes: NewWrite[]) {
    if (this.#cached.size === 0) return;
    for (const write of writes) {
      const key = keyOfCheckpoint(write.ns, write.checkpoint_id);
      this.#cached.get(key)?.keys.add(keyOfWrite(write));
    }
  }
}

export function keyOfWrite({ task_id, idx }: Pick<StoredWrite, "task_id" | "idx">): string {
  return `${idx} ${task_id}`;
}

function keyOfCheckpoint(ns: string, checkpoint_id: string): string {
  return `${ns}\n${checkpoint_id}`;
}

export function keyOfValue({ channel, version }: Pick<StoredValue, "channel" | "version">): string {
  return `${version} ${channel}`;
}

/** Returns the keys of the values that a checkpoint refers to. */
export function valueKeysOf({ checkpoint }: { checkpoint: string }): Set<string> {
  const parsed = JSON.parse(checkpoint) as { channel_versions?: Record<string, number> };
  const versions = Object.entries(parsed.channel_versions ?? {});
  return new Set(versions.map(([channel, version]) => keyOfValue({ channel, version })));
}
