import { gunzipSync, zstdDecompressSync } from "node:zlib";
import {
  type AsyncBuffer,
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
} from "hyparquet";
import { utf8 } from "../../shared/crypto/encoding.ts";
import { AppError } from "../../shared/errors.ts";
import { toIso } from "../../shared/times.ts";
import type { Reserve } from "../../shared/work/memory-budget.ts";

export type PreviewCell = string | number | boolean | null | (string | null)[];
export type ParquetRows = {
  rows: Record<string, PreviewCell>[];
  columns: string[];
  /** Columns that were not read, because all columns of the row group together exceed the limit. */
  omitted: string[];
};

/** Bounds the memory of a preview. Most row groups have at most about 8 MiB, but a single row may be larger. */
const MAX_GROUP_BYTES = 24 * 1024 * 1024;
const FOOTER_BYTES = 64 * 1024;
/** zstd needs room after its output. */
const SLACK_BYTES = 1024;

const compressors: Compressors = {
  GZIP: (input) => toView(gunzipSync(input, { maxOutputLength: MAX_GROUP_BYTES })),
  ZSTD: (input, size) => {
    const options = { chunkSize: size + SLACK_BYTES, maxOutputLength: MAX_GROUP_BYTES };
    return toView(zstdDecompressSync(input, options));
  },
};

function toView({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

const parsers = {
  timestampFromMicroseconds: (micros: bigint) => toIso(Number(micros)),
  // The parser of hyparquet removes a byte order mark.
  stringFromBytes: (bytes?: Uint8Array) => bytes && utf8.decode(bytes),
};

type ReadRange = (range: [number, number]) => Promise<Uint8Array<ArrayBuffer>>;
/** Reserves the memory of what is read and of what is decoded. */
type Source = { readRange: ReadRange; reserve: Reserve };

/** Reads up to `limit` rows of the first row group of a file. Reads the footer, then the columns of the group. */
export async function readFirstRows(
  byteLength: number,
  { readRange, reserve }: Source,
  limit: number,
): Promise<ParquetRows> {
  const file = toBuffer(byteLength, async (range) => {
    await reserve(range[1] - range[0]);
    return readRange(range);
  });
  const initialFetchSize = Math.min(FOOTER_BYTES, byteLength);
  const metadata = await parquetMetadataAsync(file, { initialFetchSize });
  const { columns, omitted, bytes } = chooseColumns(metadata);
  if (columns.length === 0) return { rows: [], columns, omitted };
  await reserve(bytes);
  const rowEnd = Math.min(limit, Number(metadata.row_groups[0]?.num_rows ?? 0));
  const options = { file, metadata, columns, compressors, parsers, rowStart: 0, rowEnd };
  const rows = await parquetReadObjects(options);
  return { rows: rows.map((row) => toCells(row, columns)), columns, omitted };
}

type ChosenColumns = Pick<ParquetRows, "columns" | "omitted"> & { bytes: number };

/** Chooses columns up to MAX_GROUP_BYTES, the smallest first. */
function chooseColumns({ row_groups }: FileMetaData): ChosenColumns {
  const sizes = (row_groups[0]?.columns ?? []).map(({ meta_data }) => ({
    name: meta_data?.path_in_schema[0] ?? "",
    bytes: Number(meta_data?.total_uncompressed_size ?? 0n),
  }));
  let total = 0;
  const chosen = new Set<string>();
  for (const { name, bytes } of sizes.toSorted((a, b) => a.bytes - b.bytes)) {
    if (total + bytes > MAX_GROUP_BYTES) break;
    total += bytes;
    chosen.add(name);
  }
  const names = sizes.map(({ name }) => name);
  return {
    bytes: total,
    columns: names.filter((name) => chosen.has(name)),
    omitted: names.filter((name) => !chosen.has(name)),
  };
}

function toBuffer(byteLength: number, readRange: ReadRange): AsyncBuffer {
  return {
    byteLength,
    async slice(start, end = byteLength) {
      const [from, to] = [start < 0 ? byteLength + start : start, Math.min(end, byteLength)];
      if (to - from > MAX_GROUP_BYTES) {
        throw new AppError("too_large", "The file has a part that is too large for a preview.");
      }
      return (await readRange([from, to])).buffer;
    },
  };
}

function toCells(row: Record<string, unknown>, columns: string[]): Record<string, PreviewCell> {
  return Object.fromEntries(columns.map((name) => [name, toCell(row[name])]));
}

function toCell(value: unknown): PreviewCell {
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return value;
  }
  if (!Array.isArray(value)) return null;
  return value.map((item: unknown) => (typeof item === "string" ? item : null));
}
