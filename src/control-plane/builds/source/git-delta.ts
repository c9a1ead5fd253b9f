/** Deltas of https://git-scm.com/docs/pack-format. */

export class DamagedDelta extends Error {}

/** Returns the size of the object that a delta produces. Callers check it before `applyDelta`. */
export function resultSizeOf(delta: Uint8Array): number {
  return readSize(delta, readSize(delta, 0).at).value;
}

export function applyDelta(base: Uint8Array, delta: Uint8Array): Uint8Array {
  const source = readSize(delta, 0);
  const target = readSize(delta, source.at);
  if (source.value !== base.byteLength) throw new DamagedDelta("the base has another size");
  const result = new Uint8Array(target.value);
  let written = 0;
  for (let at = target.at; at < delta.byteLength; ) {
    const opcode = byteAt(delta, at++);
    const piece = opcode & 128 ? copied(base, delta, opcode, at) : inserted(delta, opcode, at);
    at = piece.at;
    if (written + piece.bytes.byteLength > target.value) throw new DamagedDelta("it is too long");
    result.set(piece.bytes, written);
    written += piece.bytes.byteLength;
  }
  if (written !== target.value) throw new DamagedDelta("it is too short");
  return result;
}

type Piece = { bytes: Uint8Array; at: number };

function inserted(delta: Uint8Array, length: number, at: number): Piece {
  const bytes = delta.subarray(at, at + length);
  if (length === 0 || bytes.byteLength < length) throw new DamagedDelta("it is cut off");
  return { bytes, at: at + length };
}

function copied(base: Uint8Array, delta: Uint8Array, opcode: number, start: number): Piece {
  let at = start;
  const read = (bits: number[]) =>
    bits.reduce(
      (sum, bit, n) => (opcode & (1 << bit) ? sum + byteAt(delta, at++) * 256 ** n : sum),
      0,
    );
  const offset = read([0, 1, 2, 3]);
  // The format encodes 0x10000 as 0.
  const length = read([4, 5, 6]) || 0x10000;
  if (offset + length > base.byteLength) throw new DamagedDelta("it copies beyond its base");
  return { bytes: base.subarray(offset, offset + length), at };
}

function readSize(delta: Uint8Array, start: number): { value: number; at: number } {
  let value = 0;
  let at = start;
  let byte = 128;
  for (let factor = 1; byte & 128; factor *= 128) {
    byte = byteAt(delta, at++);
    value += (byte & 127) * factor;
  }
  return { value, at };
}

function byteAt(delta: Uint8Array, at: number): number {
  const byte = delta[at];
  if (byte === undefined) throw new DamagedDelta("it is cut off");
  return byte;
}
