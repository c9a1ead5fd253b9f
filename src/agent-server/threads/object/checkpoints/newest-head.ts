import type { LoadedCheckpoint, StoredValue } from "../../../../isolate/checkpoint-contract.ts";
import type { NewWrite } from "./replaced-writes.ts";
import type { NewCheckpoint } from "./row-format.ts";
import { keyOfValue, valueKeysOf } from "./stored-keys.ts";

/** Larger states are not kept in memory: an isolate of 128 MB has the objects of many threads. */
const MAX_KEPT_BYTES = 64 * 1024;

/** `loaded` is `null` for a thread without checkpoints. `inline`: the values that are in the row of the checkpoint. */
type StoredHead = { loaded: LoadedCheckpoint | null; inline: StoredValue[] };

/** The newest checkpoint of the root graph, as storage returns it: the next run of the thread begins with it. */
export class NewestHead {
  /** `null` when it is not known, or too large. */
  #kept: StoredHead | null = null;

  /** Whether the thread is known to have no checkpoint. */
  get isNone(): boolean {
    return this.#kept !== null && this.#kept.loaded === null;
  }

  get loaded(): LoadedCheckpoint | null {
    return this.#kept?.loaded ?? null;
  }

  startEmpty() {
    this.#kept = { loaded: null, inline: [] };
  }

  forget() {
    this.#kept = null;
  }

  keep(loaded: LoadedCheckpoint, inline: StoredValue[]) {
    const data = [...loaded.values, ...loaded.writes].map((entry) => entry.data.byteLength);
    const texts = loaded.checkpoint.length + loaded.metadata.length;
    const bytes = data.reduce((sum, size) => sum + size, texts);
    this.#kept = bytes > MAX_KEPT_BYTES ? null : { loaded, inline };
  }

  /** @returns the inline values of the head when the checkpoints are a chain that begins after it, else `null` */
  inlineBefore(checkpoints: NewCheckpoint[]): StoredValue[] | null {
    return this.#kept && isChain(this.#kept.loaded, checkpoints) ? this.#kept.inline : null;
  }

  /**
   * Follows a batch of stored checkpoints to its last one of the root graph. `inline`: the values in that row. Forgets
   * the head when the batch does not continue it.
   */
  follow(checkpoints: NewCheckpoint[], inline: StoredValue[]) {
    const roots = checkpoints.filter(({ ns }) => ns === "");
    const kept = this.#kept;
    if (kept === null || (roots.length === 0 && kept.loaded !== null)) return;
    this.#kept = null;
    const next = isChain(kept.loaded, roots) ? after(kept.loaded, roots) : null;
    if (next) this.keep(next, inline);
  }

  /** Forgets the head when it has one of these stored writes. */
  forgetIfWritten(writes: NewWrite[]) {
    const id = this.loaded?.checkpoint_id;
    if (writes.some(({ ns, checkpoint_id }) => ns === "" && checkpoint_id === id)) this.forget();
  }
}

function isChain(head: LoadedCheckpoint | null, checkpoints: NewCheckpoint[]): boolean {
  let last = head?.checkpoint_id ?? null;
  return checkpoints.every(({ ns, checkpoint_id, parent_id }) => {
    const follows = ns === "" && parent_id === last && checkpoint_id > (last ?? "");
    last = checkpoint_id;
    return follows;
  });
}

/** Returns the last of a chain with its values, `null` when some values are neither in `head` nor in the chain. */
function after(head: LoadedCheckpoint | null, chain: NewCheckpoint[]): LoadedCheckpoint | null {
  const values = new Map(head?.values.map((value) => [keyOfValue(value), value]));
  let before: { checkpoint: string } | null = head;
  for (const next of chain) {
    if (next.values.length === 0 && hasNewVersion(next, before)) return null;
    for (const value of next.values) values.set(keyOfValue(value), own(value));
    before = next;
  }
  const last = chain.at(-1);
  if (!last) return null;
  const { ns, checkpoint_id, parent_id, checkpoint, metadata } = last;
  // A version without a value is that of an empty channel.
  const found = [...valueKeysOf(last)].flatMap((key) => values.get(key) ?? []);
  return { ns, checkpoint_id, parent_id, checkpoint, metadata, values: found, writes: [] };
}

/** A copy of a checkpoint brings no values along. */
function hasNewVersion(next: NewCheckpoint, before: { checkpoint: string } | null): boolean {
  const known = before ? valueKeysOf(before) : new Set();
  return [...valueKeysOf(next)].some((key) => !known.has(key));
}

/** Copies data that is a part of a larger buffer: RPC would send, and memory would hold, the whole buffer. */
function own(value: StoredValue): StoredValue {
  const { data } = value;
  return data.byteLength === data.buffer.byteLength ? value : { ...value, data: data.slice() };
}
