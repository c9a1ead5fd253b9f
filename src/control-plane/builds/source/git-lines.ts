import { DamagedPack } from "./git-pack.ts";

/** Lines of https://git-scm.com/docs/gitprotocol-common with the channels of side-band-64k. */

const LENGTH = 4;
const MAX_LINE = 65_520;
const PACK_CHANNEL = 1;

/** Yields the answer to an upload-pack request without its pack, which is added to `pack` piece by piece. */
export async function* withoutPack(
  chunks: AsyncIterable<Uint8Array>,
  pack: Uint8Array[],
): AsyncIterableIterator<Uint8Array> {
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of chunks) {
    rest = rest.byteLength === 0 ? chunk : concat(rest, chunk);
    for (let length = lengthOf(rest); length !== null; length = lengthOf(rest)) {
      const line = rest.subarray(0, length);
      rest = rest.subarray(length);
      if (line[LENGTH] === PACK_CHANNEL) pack.push(line.slice(LENGTH + 1));
      else yield line;
    }
  }
  if (rest.byteLength > 0) throw new DamagedPack("the answer is cut off");
}

/** @returns the number of bytes of the first line with its prefix, or `null` while they have not all arrived */
function lengthOf(bytes: Uint8Array): number | null {
  if (bytes.byteLength < LENGTH) return null;
  const text = new TextDecoder().decode(bytes.subarray(0, LENGTH));
  if (!/^[0-9a-f]{4}$/i.test(text)) throw new DamagedPack("the answer has a line without a length");
  // Lengths below 4 are markers without a content, such as the flush packet 0000.
  const length = Math.max(LENGTH, Number.parseInt(text, 16));
  if (length > MAX_LINE) throw new DamagedPack(`a line has ${length} bytes`);
  return length <= bytes.byteLength ? length : null;
}

function concat(head: Uint8Array, tail: Uint8Array): Uint8Array {
  const whole = new Uint8Array(head.byteLength + tail.byteLength);
  whole.set(head);
  whole.set(tail, head.byteLength);
  return whole;
}
