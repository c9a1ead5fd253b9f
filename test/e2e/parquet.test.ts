import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { decompress } from "fzstd";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CONSTANTS as BENCH_CONSTANTS, traceRows } from "../../bench/rows.ts";
import { pythonEnv } from "../../scripts/python-env.ts";
import { COLUMNS, selectColumns } from "../../src/exports/columns.ts";
import { dayFolder, partKey } from "../../src/exports/keys.ts";
import { ParquetWriter } from "../../src/exports/parquet/writer.ts";
import { schemaStatements } from "../../src/exports/schema-statements.ts";
import {
  anyRows,
  batchOf,
  COMPRESSIONS,
  CONSTANTS,
  concat,
  expectedRow,
  ODD_ROWS,
  type Row,
  writeRows,
} from "../support/parquet.ts";
import {
  arrowRows,
  duckdbRows,
  hyparquetRows,
  plain,
  type Row as ReadRow,
  withoutMark,
} from "./support/parquet-readers.ts";

const run = promisify(execFile);
const python = await pythonEnv();

setFlagsFromString("--expose-gc");
const gc: () => void = runInNewContext("gc");

/** Twice: buffers are freed beside the first collection, and before the second. */
function liveBytes() {
  gc();
  gc();
  const { heapUsed: heap, arrayBuffers: buffers } = process.memoryUsage();
  return { heap, buffers };
}

let dir: string;
let db: DuckDBConnection;
let files = 0;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-parquet-"));
  db = await (await DuckDBInstance.create(":memory:")).connect();
  await db.run("SET TimeZone = 'UTC'");
});

afterAll(async () => {
  db.closeSync();
  await rm(dir, { recursive: true, force: true });
});

/** Never the same path twice: DuckDB remembers what it read. */
async function save(bytes: Uint8Array, name = `${files++}.parquet`): Promise<string> {
  const path = join(dir, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
  return path;
}

async function query(sql: string): Promise<unknown[][]> {
  const rows = (await db.runAndReadAll(sql)).getRows();
  return rows.map((row) => row.map(plain));
}

async function allOf(rows: AsyncIterable<ReadRow>): Promise<ReadRow[]> {
  const all: ReadRow[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

const readers = {
  duckdb: async (bytes: Uint8Array) => allOf(duckdbRows(db, await save(bytes))),

  hyparquet: async (bytes: Uint8Array<ArrayBuffer>, columns = COLUMNS) => {
    const names = columns.map(({ name }) => name);
    return allOf(hyparquetRows(bytes, names, (page) => decompress(page)));
  },

  "parquet-wasm": async (bytes: Uint8Array<ArrayBuffer>) => allOf(arrowRows(bytes)),
};

describe.each(Object.entries(readers))("%s", (name, read) => {
  const expected = (rows: readonly Row[]) => {
    const exact = rows.map((row) => expectedRow(COLUMNS, row));
    return name === "hyparquet" ? exact : withoutMark(exact);
  };

  test.each(COMPRESSIONS)(
    "reads every value of every column as it was, %s",
    async (compression) => {
      const bytes = writeRows(COLUMNS, ODD_ROWS, compression);
      expect(await read(bytes)).toEqual(expected(ODD_ROWS));
    },
  );

  test("reads any rows", async () => {
    await fc.assert(
      fc.asyncProperty(anyRows, fc.constantFrom(...COMPRESSIONS), async (rows, compression) => {
        const bytes = writeRows(COLUMNS, rows, compression);
        expect(await read(bytes)).toEqual(expected(rows));
      }),
      { numRuns: 25 },
    );
  });
});

test("DuckDB names the types that the documentation names", async () => {
  const path = await save(writeRows(COLUMNS, ODD_ROWS));
  const types = {
    text: "VARCHAR",
    texts: "VARCHAR[]",
    boolean: "BOOLEAN",
    timestamp: "TIMESTAMP WITH TIME ZONE",
    integer: "BIGINT",
    double: "DOUBLE",
  };
  const described = await query(`SELECT column_name, column_type FROM (DESCRIBE FROM '${path}')`);
  expect(described).toEqual(COLUMNS.map(({ name, type }) => [name, types[type]]));
});

test("DuckDB skips row groups by start_time and sees nulls", async () => {
  const rows = Array.from(
    { length: 25_000 },
    (_, index): Row => ({
      start_us: index * 1_000_000,
      error: index < 10_000 ? null : "failed",
    }),
  );
  const columns = selectColumns(["start_time", "error"]);
  const path = await save(writeRows(columns, rows));
  const statistics = await query(`
    SELECT stats_min_value, stats_max_value, stats_null_count FROM parquet_metadata('${path}')
    ORDER BY column_id, row_group_id`);
  expect(statistics).toEqual([
    ["1970-01-01 00:00:00+00", "1970-01-01 02:46:39+00", 0n],
    ["1970-01-01 02:46:40+00", "1970-01-01 05:33:19+00", 0n],
    ["1970-01-01 05:33:20+00", "1970-01-01 06:56:39+00", 0n],
    [null, null, 10_000n],
    [null, null, 0n],
    [null, null, 0n],
  ]);
  const [[count]] = (await query(
    `SELECT count(*) FROM '${path}' WHERE start_time >= '1970-01-01 06:00:00+00' AND error IS NOT NULL`,
  )) as [[bigint]];
  expect(count).toBe(3400n);
});

test("the documented statement reads an export's folders, late rows too", async () => {
  const root = { base: "", export_id: "e1", ...CONSTANTS };
  const bytes = writeRows(COLUMNS, ODD_ROWS.slice(0, 3));
  for (const [day, kind] of [
    ["01", "late"],
    ["20", "part"],
  ] as const) {
    const folder = dayFolder(root, Date.parse(`2026-11-${day}T12:00:00Z`) * 1000);
    await save(bytes, partKey(folder, kind, 0));
  }
  const folder = `export_id=e1/tenant_id=${CONSTANTS.tenant_id}/session_id=${CONSTANTS.session_id}/runs`;
  const { duckdb } = schemaStatements(COLUMNS, join(dir, folder));
  const rows = await query(`${duckdb.replace(";", "")} ORDER BY day`);
  const expected = ODD_ROWS.slice(0, 3).map((row) => expectedRow(COLUMNS, row));
  expect(rows.slice(0, 3)).toEqual(expected.map((row) => [...row, 2026n, 11n, 1n]));
  expect(rows.slice(3)).toEqual(expected.map((row) => [...row, 2026n, 11n, 20n]));
});

/** The documented statements of Python, of one project and of a whole export, for an export on disk. */
async function pythonStatements(export_folder: string, project: string): Promise<string[]> {
  const text = await readFile("docs/reference/export-files.md", "utf8");
  const blocks = [...text.matchAll(/```python\n(import [^`]+)```/g)].map(([, block = ""]) => block);
  return blocks.map((block) =>
    block
      .replaceAll("s3://bucket/prefix/export_id=E/tenant_id=T/session_id=S", project)
      .replaceAll("s3://bucket/prefix/export_id=E", export_folder),
  );
}

test.skipIf(python === null)(
  "the documented statements of pandas, PyArrow and Polars read an export's folders",
  async () => {
    const root = { base: "", export_id: "e2", ...CONSTANTS };
    const bytes = writeRows(COLUMNS, ODD_ROWS);
    for (const day of ["01", "20"]) {
      const folder = dayFolder(root, Date.parse(`2026-11-${day}T12:00:00Z`) * 1000);
      await save(bytes, partKey(folder, "part", 0));
    }
    const export_folder = join(dir, "export_id=e2");
    const { tenant_id, session_id } = CONSTANTS;
    const project = `${export_folder}/tenant_id=${tenant_id}/session_id=${session_id}`;
    const statements = await pythonStatements(export_folder, project);
    expect(statements).toHaveLength(4);
    const argument = JSON.stringify({ statements });
    const { stdout } = await run(python ?? "", ["test/python/read_files.py", argument], {
      maxBuffer: 256 * 1024 * 1024,
    });
    const [project_rows, export_rows, ...llm_rows] = JSON.parse(stdout) as unknown[][];
    const rows = ODD_ROWS.map((row) => expectedRow(COLUMNS, row));
    const at = ["id", "name", "inputs"].map((name) =>
      COLUMNS.findIndex((one) => one.name === name),
    );
    const shown = [...rows, ...rows].map((row) => at.map((index) => row[index]));
    const sortedText = (found: unknown[] | undefined) =>
      (found ?? []).map((row) => JSON.stringify(row)).toSorted();
    expect(sortedText(project_rows)).toEqual(sortedText(shown));
    expect(sortedText(export_rows)).toEqual(sortedText(shown));
    const type_at = COLUMNS.findIndex(({ name }) => name === "run_type");
    const count = 2 * rows.filter((row) => row[type_at] === "llm").length;
    expect(llm_rows.map((found) => found.length)).toEqual([count, count]);
  },
);

test("a file without rows has all columns", async () => {
  const path = await save(writeRows(COLUMNS, []));
  expect(await query(`SELECT * FROM '${path}'`)).toEqual([]);
  expect(await query(`SELECT count(*) FROM (DESCRIBE FROM '${path}')`)).toEqual([[29n]]);
});

test("a value of 40 MB is written whole and leaves no memory behind", async () => {
  const columns = selectColumns(["id", "inputs", "outputs"]);
  const writer = new ParquetWriter(columns, { compression: "zstandard" });
  const inputs = JSON.stringify({ text: "The order is late. ".repeat(2_200_000) });
  const outputs = JSON.stringify({ text: "注文は遅れています。".repeat(1_300_000) });
  const small = batchOf([{ id: "before", inputs: "{}", outputs: "{}" }]);
  const parts = writer.write(small);
  const before = liveBytes().buffers;
  parts.push(...writer.write(batchOf([{ id: "big", inputs, outputs }])));
  expect(liveBytes().buffers - before).toBeLessThan(1024 * 1024);
  parts.push(...writer.write(small), ...writer.finish());
  const bytes = concat(parts);
  const md5 = (text: unknown) => createHash("md5").update(String(text)).digest("hex");
  const expected = [
    ["before", md5("{}"), md5("{}")],
    ["big", md5(inputs), md5(outputs)],
    ["before", md5("{}"), md5("{}")],
  ];
  for (const read of Object.values(readers)) {
    const rows = await read(bytes, columns);
    expect(rows.map(([id, ...texts]) => [id, ...texts.map(md5)])).toEqual(expected);
  }
});

test("a million rows pass through without growth of memory", () => {
  const batch = traceRows(0, 1000);
  const options = { compression: "none", constants: BENCH_CONSTANTS } as const;
  const writer = new ParquetWriter(COLUMNS, options);
  let written = 0;
  let early = liveBytes();
  for (let batches = 1; batches <= 1000; batches++) {
    for (const part of writer.write(batch)) written += part.length;
    if (batches === 100) early = liveBytes();
  }
  expect(written).toBeGreaterThan(1_500_000_000);
  const late = liveBytes();
  expect(late.buffers).toBeLessThan(32 * 1024 * 1024);
  expect(late.buffers - early.buffers).toBeLessThan(8 * 1024 * 1024);
  expect(late.heap - early.heap).toBeLessThan(8 * 1024 * 1024);
});
