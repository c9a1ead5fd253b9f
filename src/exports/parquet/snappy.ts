const TABLE_BITS = 14;
const MAX_OFFSET = 0xffff;
/** Closer to the end than this nothing is looked for, so that four bytes can be read at once. */
const MARGIN = 15;

const positions = new Int32Array(1 << TABLE_BITS);

/** Snappy's raw block format, without frames, as Parquet has it. */
export function snappyCompress(input: Uint8Array): Uint8Array {
  const size = input.length;
  const view = new DataView(input.buffer, input.byteOffset, size);
  const out = new Uint8Array(32 + size + Math.ceil(size / 6));
  let to = writeSize(out, size);
  let said = 0;
  let at = 0;
  let misses = 32;
  positions.fill(0);
  while (at < size - MARGIN) {
    const word = view.getUint32(at, true);
    const slot = Math.imul(word, 0x1e35a7bd) >>> (32 - TABLE_BITS);
    const before = positions[slot] ?? 0;
    positions[slot] = at;
    if (before < at && at - before <= MAX_OFFSET && view.getUint32(before, true) === word) {
      to = writeLiteral(out, to, input, said, at);
      const length = matchOf(view, before, at);
      to = writeCopy(out, to, at - before, length);
      at += length;
      said = at;
      misses = 32;
    } else {
      // What does not repeat is passed over in ever longer steps.
      at += misses++ >>> 5;
    }
  }
  return out.slice(0, writeLiteral(out, to, input, said, size));
}

function writeSize(out: Uint8Array, size: number): number {
  let to = 0;
  let rest = size;
  for (; rest >= 0x80; rest >>>= 7) out[to++] = (rest & 0x7f) | 0x80;
  out[to++] = rest;
  return to;
}

function matchOf(view: DataView, before: number, at: number): number {
  const most = view.byteLength - at;
  let length = 4;
  while (length + 4 <= most && same(view, before + length, at + length)) length += 4;
  while (length < most && view.getUint8(before + length) === view.getUint8(at + length)) length++;
  return length;
}

function same(view: DataView, before: number, at: number): boolean {
  return view.getUint32(before) === view.getUint32(at);
}

function writeLiteral(
  out: Uint8Array,
  start: number,
  input: Uint8Array,
  from: number,
  end: number,
): number {
  if (from === end) return start;
  const to = writeLiteralSize(out, start, end - from - 1);
  if (end - from > 64) out.set(input.subarray(from, end), to);
  else for (let at = from; at < end; at++) out[to + at - from] = input[at] ?? 0;
  return to + end - from;
}

/** Below 60 in the tag itself, else in as few bytes after it as will do. */
function writeLiteralSize(out: Uint8Array, start: number, last: number): number {
  let to = start;
  if (last < 60) {
    out[to++] = last << 2;
    return to;
  }
  const bytes = Math.ceil((32 - Math.clz32(last)) / 8);
  out[to++] = (59 + bytes) << 2;
  for (let byte = 0; byte < bytes; byte++) out[to++] = last >>> (8 * byte);
  return to;
}

/** A copy says 4 to 64 bytes; what is longer takes several, none left with fewer than 4. */
function writeCopy(out: Uint8Array, start: number, offset: number, length: number): number {
  let to = start;
  let rest = length;
  for (; rest >= 68; rest -= 64) to = writePiece(out, to, offset, 64);
  if (rest > 64) {
    to = writePiece(out, to, offset, 60);
    rest -= 60;
  }
  return writePiece(out, to, offset, rest);
}

function writePiece(out: Uint8Array, to: number, offset: number, length: number): number {
  if (length < 12 && offset < 2048) {
    out[to] = 1 | ((length - 4) << 2) | ((offset >>> 8) << 5);
    out[to + 1] = offset;
    return to + 2;
  }
  out[to] = 2 | ((length - 1) << 2);
  out[to + 1] = offset;
  out[to + 2] = offset >>> 8;
  return to + 3;
}
