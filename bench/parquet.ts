// Encodes the same rows with Heddle's Parquet writer and with DuckDB, one thread each, in turns, and prints the
// ratio of their times.
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { readOptions } from "../scripts/options.ts";
import { COLUMNS } from "../src/exports/columns.ts";
import { type Batch, type Compression, ParquetWriter } from "../src/exports/parquet/writer.ts";
import { percentile, round } from "./measure.ts";
import { CONSTANTS, traceRows } from "./rows.ts";

/** Rows of a part of a scan. */
const BATCH_ROWS = 256;
const DUCKDB_CODECS = {
  zstandard: "zstd, COMPRESSION_LEVEL 1",
  gzip: "gzip",
  snappy: "snappy",
  none: "uncompressed",
} satisfies Record<Compression, string>;

const { values: options } = readOptions({
  rows: { type: "string", default: "100000" },
  rounds: { type: "string", default: "5" },
  compression: { type: "string", multiple: true, default: ["zstandard"] },
});
const rows = Number(options.rows);
const dir = await mkdtemp(join(tmpdir(), "heddle-parquet-"));
const files = { heddle: join(dir, "heddle.parquet"), duckdb: join(dir, "duckdb.parquet") };

try {
  const batches = Array.from({ length: Math.ceil(rows / BATCH_ROWS) }, (_, index) =>
    traceRows(index * BATCH_ROWS, Math.min(BATCH_ROWS, rows - index * BATCH_ROWS)),
  );
  writeHeddle(batches, "none");
  const raw_mb = round(readFileSync(files.heddle).length / 1e6);
  const db = await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
  await db.run(`CREATE TABLE runs AS SELECT * FROM '${files.heddle}'`);
  console.log(JSON.stringify({ rows, rounds: Number(options.rounds), raw_mb }));
  for (const name of options.compression) {
    const compression = compressionOf(name);
    console.log(JSON.stringify({ compression, ...(await compare(batches, db, compression)) }));
  }
  db.closeSync();
} finally {
  await rm(dir, { recursive: true, force: true });
}

async function compare(batches: Batch[], db: DuckDBConnection, compression: Compression) {
  const seconds = { heddle: [] as number[], duckdb: [] as number[] };
  for (let index = 0; index <= Number(options.rounds); index++) {
    const heddle = await cpuSeconds(() => writeHeddle(batches, compression));
    const duckdb = await cpuSeconds(() => writeDuckDb(db, compression));
    if (index === 0) continue;
    seconds.heddle.push(heddle);
    seconds.duckdb.push(duckdb);
  }
  const rates = {
    heddle: Math.round(rows / percentile(seconds.heddle, 0.5)),
    duckdb: Math.round(rows / percentile(seconds.duckdb, 0.5)),
  };
  return {
    rows_per_cpu_second: rates,
    ratio: round(rates.heddle / rates.duckdb),
    file_mb: { heddle: megabytes(files.heddle), duckdb: megabytes(files.duckdb) },
  };
}

function writeHeddle(batches: Batch[], compression: Compression): void {
  const file = openSync(files.heddle, "w");
  const writer = new ParquetWriter(COLUMNS, { compression, constants: CONSTANTS });
  const save = (parts: Uint8Array[]) => {
    for (const part of parts) writeSync(file, part);
  };
  for (const batch of batches) save(writer.write(batch));
  save(writer.finish());
  closeSync(file);
}

async function writeDuckDb(db: DuckDBConnection, compression: Compression): Promise<void> {
  const codec = DUCKDB_CODECS[compression];
  await db.run(`COPY runs TO '${files.duckdb}' (FORMAT parquet, COMPRESSION ${codec})`);
}

async function cpuSeconds(work: () => void | Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

function megabytes(path: string): number {
  return round(readFileSync(path).length / 1e6);
}

function compressionOf(name: string): Compression {
  const found = Object.keys(DUCKDB_CODECS).find((one) => one === name);
  if (!found) throw new Error(`no such compression: ${name}`);
  return found as Compression;
}
