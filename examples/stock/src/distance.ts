import module from "./distance.wasm";

type Exports = {
  memory: WebAssembly.Memory;
  distance(lengthOfOne: number, lengthOfOther: number): number;
};

const { memory, distance: distanceOf } = new WebAssembly.Instance(module).exports as Exports;
const encoder = new TextEncoder();

/** Where distance.wat expects the texts, and their maximum length. */
const OTHER_AT = 256;
const MAX_BYTES = 255;

/** The number of letters to insert, delete or replace (Levenshtein). */
export function distance(one: string, other: string): number {
  return distanceOf(write(one, 0), write(other, OTHER_AT));
}

function write(text: string, at: number): number {
  const bytes = encoder.encode(text).subarray(0, MAX_BYTES);
  new Uint8Array(memory.buffer).set(bytes, at);
  return bytes.length;
}
