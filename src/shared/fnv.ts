const SEED = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * FNV-1a of 32 bits over UTF-16 code units.
 * @param seed the hash of a text that precedes this one
 * @param end where the hashed part of the text ends
 */
export function fnv1a(text: string, seed = SEED, end = text.length): number {
  let state = seed;
  for (let at = 0; at < end; at++) state = Math.imul(state ^ text.charCodeAt(at), PRIME);
  return state >>> 0;
}
