import { ID_BYTES, KEY_WORDS, writeKey } from "./uuids.ts";

/** Returns the hashes of the traces of a segment. */
export function hashTraces(runs: { trace_id: string }[]): Uint32Array<ArrayBuffer> {
  return Uint32Array.from(new Set(runs.map(({ trace_id }) => hashTrace(trace_id))));
}

const key = new Uint8Array(ID_BYTES);
const words = new Uint32Array(key.buffer);

export function hashTrace(trace_id: string): number {
  writeKey(trace_id, key, 0);
  return hashKey(words, 0);
}

/** Returns the hash of the nth key. The factor is a prime near 2^32 divided by the golden ratio. */
export function hashKey(keys: Uint32Array, n: number): number {
  let hash = 0;
  for (let word = KEY_WORDS * n; word < KEY_WORDS * (n + 1); word++) {
    hash = Math.imul(hash ^ (keys[word] ?? 0), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash >>> 0;
}
