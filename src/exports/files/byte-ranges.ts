export type ByteRange = readonly [start: number, end: number];
/** Range of one call, and the parts of it that are used. */
export type RangeRead = { range: ByteRange; used: ByteRange[] };

const MAX_READ_BYTES = 4 * 1024 * 1024;
/** Largest gap between two ranges of one call: its bytes take less time than another call. */
const MAX_GAP_BYTES = 256 * 1024;
/** Workers allow an invocation six open connections. PARTS_IN_FLIGHT of them send parts. */
const READS_IN_FLIGHT = 3;

/** Combines and splits ascending ranges into calls of at most MAX_READ_BYTES. */
export function planReads(ranges: Iterable<ByteRange>): RangeRead[] {
  const reads: RangeRead[] = [];
  for (const [start, end] of ranges) {
    for (let at = start; at < end; at += MAX_READ_BYTES) {
      addRange(reads, [at, Math.min(end, at + MAX_READ_BYTES)]);
    }
  }
  return reads;
}

function addRange(reads: RangeRead[], range: ByteRange): void {
  const last = reads.at(-1);
  const [start, end] = range;
  const isNear = last && start - last.range[1] <= MAX_GAP_BYTES;
  if (!isNear || end - last.range[0] > MAX_READ_BYTES) {
    reads.push({ range, used: [range] });
    return;
  }
  last.range = [last.range[0], end];
  last.used.push(range);
}

/** Yields the used bytes in order, and reads ahead. */
export async function* readInOrder(
  reads: readonly RangeRead[],
  read: (range: ByteRange) => Promise<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const coming: Promise<Uint8Array>[] = [];
  for (const [n, { range, used }] of reads.entries()) {
    for (const next of reads.slice(n + coming.length, n + READS_IN_FLIGHT)) {
      const bytes = read(next.range);
      // Prevents an unhandled rejection before the bytes are awaited.
      bytes.catch(() => undefined);
      coming.push(bytes);
    }
    const bytes = (await coming.shift()) ?? new Uint8Array(0);
    for (const [start, end] of used) yield bytes.subarray(start - range[0], end - range[0]);
  }
}
