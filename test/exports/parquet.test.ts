import fc from "fast-check";
import { parquetMetadata } from "hyparquet";
import { describe, expect, test } from "vitest";
import { COLUMNS, selectColumns } from "../../src/exports/columns.ts";
import { ParquetWriter } from "../../src/exports/parquet/writer.ts";
import {
  anyRows,
  batchOf,
  COMPRESSIONS,
  concat,
  digestOf,
  expectedRow,
  ODD_ROWS,
  type Row,
  readRows,
  writeRows,
} from "../support/parquet.ts";

function groupsOf(bytes: Uint8Array<ArrayBuffer>) {
  return parquetMetadata(bytes.buffer).row_groups;
}

function big(index: number, chars: number): Row {
  return { ...ODD_ROWS[0], id: `row ${index}`, inputs: `${index % 10}`.repeat(chars) };
}

test("columns and elements of lists have the ids of their table", () => {
  const { schema } = parquetMetadata(writeRows(COLUMNS, ODD_ROWS).buffer);
  const ids = schema.flatMap(({ name, field_id }) =>
    field_id === undefined ? [] : [[name, field_id]],
  );
  const lists = { parent_run_ids: 1006, tags: 1021 };
  expect(ids).toEqual(
    COLUMNS.flatMap(({ id, name }) => [
      [name, id],
      ...Object.entries(lists).flatMap(([list, element]) =>
        list === name ? [["element", element]] : [],
      ),
    ]),
  );
});

const expected = (rows: readonly Row[]) => rows.map((row) => expectedRow(COLUMNS, row));

test.each(COMPRESSIONS)("odd values come back as they were, %s", async (compression) => {
  const bytes = writeRows(COLUMNS, ODD_ROWS, compression);
  expect(await readRows(bytes)).toEqual(expected(ODD_ROWS));
});

test("any rows are read back, and batching does not change the bytes", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyRows,
      fc.constantFrom(...COMPRESSIONS),
      fc.integer({ min: 1, max: 40 }),
      async (rows, compression, batchRows) => {
        const bytes = writeRows(COLUMNS, rows, compression);
        expect(await readRows(bytes)).toEqual(expected(rows));
        expect(writeRows(COLUMNS, rows, compression, batchRows)).toEqual(bytes);
      },
    ),
    { numRuns: 60 },
  );
});

test.each(COMPRESSIONS)("pages outgrow the buffers of the runtime, %s", async (compression) => {
  const columns = selectColumns(["error"]);
  for (const chars of [40_000, 41_000, 100_000, 1_000_000, 5_000_000]) {
    const rows = [{ error: noise(chars) }, { error: "x".repeat(chars) }];
    const read = await readRows(writeRows(columns, rows, compression), columns);
    expect(read.map(([error]) => error === rows.shift()?.error)).toEqual([true, true]);
  }
});

/** Returns incompressible text. */
function noise(chars: number): string {
  const bytes = new Uint8Array(chars);
  for (let at = 0; at < chars; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  }
  return new TextDecoder().decode(bytes.map((byte) => 33 + (byte % 94)));
}

describe("row groups", () => {
  test("close by bytes after the same row however the rows are batched", async () => {
    const rows = Array.from({ length: 40 }, (_, index) => big(index, 90_000 * ((index * 7) % 12)));
    const whole = writeRows(COLUMNS, rows, "none");
    const groups = groupsOf(whole).map(({ num_rows, total_byte_size }) => [
      num_rows,
      total_byte_size,
    ]);
    expect(groups.length).toBeGreaterThan(1);
    for (const [, bytes] of groups.slice(0, -1)) {
      expect(Number(bytes)).toBeGreaterThanOrEqual(8 * 1024 * 1024);
      expect(Number(bytes)).toBeLessThan(9.5 * 1024 * 1024);
    }
    for (const batchRows of [1, 3, 17]) {
      const batched = writeRows(COLUMNS, rows, "none", batchRows);
      expect(await digestOf(batched)).toBe(await digestOf(whole));
    }
  });

  test("hold at most 10,000 rows", async () => {
    const columns = selectColumns(["id", "start_time"]);
    const rows = Array.from({ length: 20_001 }, (_, index) => ({
      id: `row ${index}`,
      start_us: index * 1000,
    }));
    const bytes = writeRows(columns, rows, "snappy", 7_001);
    const groups = groupsOf(bytes);
    expect(groups.map(({ num_rows }) => num_rows)).toEqual([10_000n, 10_000n, 1n]);
    expect(await digestOf(bytes)).toBe(await digestOf(writeRows(columns, rows, "snappy")));
    const starts = groups.map((group) => group.columns[1]?.meta_data?.statistics);
    expect(starts.map((one) => one?.null_count)).toEqual([0n, 0n, 0n]);
    const micros = (date: unknown) => (date instanceof Date ? date.getTime() : null);
    expect(starts.map((one) => [micros(one?.min_value), micros(one?.max_value)])).toEqual([
      [0, 9_999],
      [10_000, 19_999],
      [20_000, 20_000],
    ]);
    expect((await readRows(bytes, columns)).map(([id]) => id)).toEqual(rows.map(({ id }) => id));
  });

  test("are returned when they close, and not retained", () => {
    const writer = new ParquetWriter(selectColumns(["id", "inputs"]), { compression: "none" });
    const batch = batchOf(Array.from({ length: 16 }, (_, index) => big(index, 1024 * 1024)));
    const sizes = Array.from({ length: 4 }, () => concat(writer.write(batch)).length);
    expect(Math.min(...sizes)).toBeGreaterThan(15 * 1024 * 1024);
    expect(writer.rows).toBe(64);
    expect(writer.bytes).toBe(sizes.reduce((sum, size) => sum + size));
  });
});

test("a file without rows is a file", async () => {
  const writer = new ParquetWriter(COLUMNS, { compression: "zstandard" });
  const parts = writer.finish();
  expect(writer.bytes).toBe(concat(parts).length);
  expect(await readRows(concat(parts))).toEqual([]);
  const { num_rows, created_by } = parquetMetadata(concat(parts).buffer);
  expect([num_rows, created_by]).toEqual([0n, "heddle"]);
});

test("key-value metadata is in the footer", () => {
  const metadata = { export_id: "e1", filter: 'eq(name, "é")' };
  const writer = new ParquetWriter(COLUMNS, { compression: "none", metadata });
  const { key_value_metadata } = parquetMetadata(concat(writer.finish()).buffer);
  expect(key_value_metadata).toEqual([
    { key: "export_id", value: "e1" },
    { key: "filter", value: 'eq(name, "é")' },
  ]);
});

test("a batch that lacks a column or a row is rejected", () => {
  const writer = new ParquetWriter(selectColumns(["id", "name"]), { compression: "none" });
  expect(() => writer.write({ rows: 1, columns: { id: ["a"] } })).toThrow("name: not 1 rows");
  expect(() => writer.write({ rows: 2, columns: { id: ["a", "b"], name: ["a"] } })).toThrow(
    "name: not 2 rows",
  );
});
