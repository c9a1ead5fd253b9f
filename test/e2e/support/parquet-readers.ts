// Three readers that share no code with each other or with the writer. Each gives rows as arrays in the order
// of the file's columns, row group after row group: times and 64-bit numbers as bigint, lists as arrays.
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import {
  type DuckDBConnection,
  DuckDBListValue,
  DuckDBTimestampTZValue,
  type DuckDBValue,
} from "@duckdb/node-api";
import { tableFromIPC, Vector } from "apache-arrow";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { readParquet } from "parquet-wasm";

export type Row = unknown[];

type Decompress = (page: Uint8Array) => Uint8Array;

const gunzip: Decompress = (page) => new Uint8Array(gunzipSync(page));
/** Returns the first frame of a page with several; fzstd returns all, slowly. */
const firstFrame: Decompress = (page) => new Uint8Array(zstdDecompressSync(page));
const utf8 = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
const parsers = {
  timestampFromMicroseconds: (micros: bigint) => micros,
  stringFromBytes: (bytes?: Uint8Array) => bytes && utf8.decode(bytes),
};

export async function* duckdbRows(db: DuckDBConnection, path: string): AsyncGenerator<Row> {
  const file = path.replaceAll("'", "''");
  const result = await db.stream(
    `SELECT * FROM read_parquet('${file}', hive_partitioning = false)`,
  );
  for (;;) {
    const chunk = await result.fetchChunk();
    if (!chunk || chunk.rowCount === 0) return;
    for (const row of chunk.getRows()) yield row.map(plain);
  }
}

export function plain(value: DuckDBValue): unknown {
  if (value instanceof DuckDBTimestampTZValue) return value.micros;
  if (value instanceof DuckDBListValue) return value.items.map(plain);
  return value;
}

export async function* hyparquetRows(
  bytes: Uint8Array<ArrayBuffer>,
  columns: readonly string[],
  unzstd = firstFrame,
): AsyncGenerator<Row> {
  const file = bytes.buffer;
  const compressors = { ZSTD: unzstd, GZIP: gunzip };
  const metadata = parquetMetadata(file);
  let rowStart = 0;
  for (const { num_rows } of metadata.row_groups) {
    const rowEnd = rowStart + Number(num_rows);
    const options = { file, metadata, rowStart, rowEnd, compressors, parsers };
    for (const row of await parquetReadObjects(options)) {
      yield columns.map((name) => row[name] ?? null);
    }
    rowStart = rowEnd;
  }
}

export async function* arrowRows(bytes: Uint8Array<ArrayBuffer>): AsyncGenerator<Row> {
  for (const group of parquetMetadata(bytes.buffer).row_groups.keys()) {
    const table = tableFromIPC(readParquet(bytes, { rowGroups: [group] }).intoIPCStream());
    const cells = table.schema.fields.map(({ name }) => arrowCells(table.getChild(name)));
    for (let row = 0; row < table.numRows; row++) yield cells.map((column) => column[row]);
  }
}

/** Times from the raw values: Arrow's own are in milliseconds. */
function arrowCells(vector: Vector | null): unknown[] {
  return (vector?.data ?? [])
    .flatMap((data) =>
      Array.from({ length: data.length }, (_, row) => {
        if (!data.getValid(row)) return null;
        if (data.values instanceof BigInt64Array) return data.values[row];
        return undefined;
      }),
    )
    .map((value, row) => (value === undefined ? arrowCell(vector?.get(row)) : value));
}

function arrowCell(value: unknown): unknown {
  return value instanceof Vector ? value.toArray() : value;
}

/** Returns a value as the packages of DuckDB and Arrow decode it: without a byte order mark at the start of a text. */
export function withoutMark(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMark);
  return typeof value === "string" ? value.replace(/^\ufeff/, "") : value;
}
