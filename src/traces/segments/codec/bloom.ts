import type { TermRange } from "../../terms.ts";

/** With ten bits and six hashes, about 0.8 % of the terms that a segment does not have pass its filter. */
const BITS_PER_TERM = 10;
const HASHES = 6;
/** Number of hashes that a value can have: a term is the hash of its key times this, plus the hash of its value. */
const VALUES = 2 ** 32;

/** Builds a filter of terms and of their keys, so that a range of all values of a key can be tested. */
export function buildBloom(terms: Float64Array): Uint8Array {
  const keys = new Set(Array.from(terms, keyOf));
  const bloom = new Uint8Array(Math.ceil(((terms.length + keys.size) * BITS_PER_TERM) / 8) + 1);
  for (const list of [terms, keys]) {
    for (const term of list) {
      for (const bit of bitsOf(term, bloom.length * 8)) {
        bloom[bit >>> 3] = (bloom[bit >>> 3] ?? 0) | (1 << (bit & 7));
      }
    }
  }
  return bloom;
}

/** Whether the terms may include one of the range. A range is one term, or all values of a key. */
export function mayContain(bloom: Uint8Array, { first, last }: TermRange): boolean {
  if (first === last) return has(bloom, first);
  return keyOf(first) !== keyOf(last) || has(bloom, keyOf(first));
}

function has(bloom: Uint8Array, term: number): boolean {
  for (const bit of bitsOf(term, bloom.length * 8)) {
    if (((bloom[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

/**
 * Returns an entry for a key: its first term, plus one half so that it differs from that term. Doubles above
 * 2^52 have no halves: above it, a key and its first term are one entry.
 */
function keyOf(term: number): number {
  return Math.floor(term / VALUES) * VALUES + 0.5;
}

function* bitsOf(term: number, size: number): Generator<number> {
  const isKey = term % 1 !== 0;
  const whole = Math.floor(term);
  let hash = mix((whole % VALUES) ^ (isKey ? 0x5bd1e995 : 0));
  const step = mix(Math.floor(whole / VALUES) ^ hash) | 1;
  for (let n = 0; n < HASHES; n++) {
    yield (hash >>> 0) % size;
    hash = (hash + step) | 0;
  }
}

/** Finalizer of MurmurHash3. */
function mix(value: number): number {
  let hash = value | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
