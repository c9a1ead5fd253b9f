import { parquetMetadataAsync, type RowGroup } from "hyparquet";
import type { Column } from "../columns.ts";

/** First read from the end: the footer of a file of 128 MB with all columns fits. */
const FOOTER_BYTES = 256 * 1024;

/** A row group, and the range of its start times in microseconds. Both times are NaN for a group without statistics. */
export type TimedGroup = { group: RowGroup; min_start_us: number; max_start_us: number };

type ReadRange = (range: [number, number]) => Promise<Uint8Array<ArrayBuffer>>;

/** Keeps times as microseconds: a Date would cut them to milliseconds. */
const parsers = { timestampFromMicroseconds: (micros: bigint) => micros };

/** Reads the row groups of a file that an export wrote. */
export async function readGroups(byteLength: number, read: ReadRange): Promise<TimedGroup[]> {
  const slice = async (start: number, end = byteLength) => (await read([start, end])).buffer;
  const initialFetchSize = Math.min(FOOTER_BYTES, byteLength);
  const file = { byteLength, slice };
  const { row_groups } = await parquetMetadataAsync(file, { initialFetchSize, parsers });
  return row_groups.map((group) => {
    const times = findChunk(group, "start_time")?.meta_data?.statistics;
    const [min_start_us, max_start_us] = [Number(times?.min_value), Number(times?.max_value)];
    return { group, min_start_us, max_start_us };
  });
}

/** Returns the group with the chunks of the given columns only. */
export function selectChunks(group: RowGroup, columns: readonly Column[]): RowGroup {
  const chunks = columns.map(({ name }) => {
    const chunk = findChunk(group, name);
    if (chunk === undefined) throw new Error(`The row group has no column ${name}`);
    return chunk;
  });
  const sizes = chunks.map(({ meta_data }) => meta_data?.total_compressed_size ?? 0n);
  return { ...group, columns: chunks, total_compressed_size: sizes.reduce((a, b) => a + b, 0n) };
}

function findChunk({ columns }: RowGroup, name: string) {
  return columns.find(({ meta_data }) => meta_data?.path_in_schema[0] === name);
}
