import fc from "fast-check";
import { expect, test } from "vitest";
import { COLUMNS, type Column } from "../../src/exports/columns.ts";
import { planReads, readInOrder } from "../../src/exports/files/byte-ranges.ts";
import { chunkRange } from "../../src/exports/parquet/chunk.ts";
import { readGroups, selectChunks } from "../../src/exports/parquet/footer.ts";
import { ParquetWriter } from "../../src/exports/parquet/writer.ts";
import {
  anyRows,
  batchOf,
  CONSTANTS,
  concat,
  digestOf,
  expectedRow,
  ODD_ROWS,
  type Row,
  readRows,
  writeRows,
} from "../support/parquet.ts";

const anyColumns = fc.subarray([...COLUMNS], { minLength: 1 });

/** Copies the columns of a file, and encodes rows before and behind. */
async function copyColumns(
  file: Uint8Array<ArrayBuffer>,
  columns: readonly Column[],
  around: readonly Row[] = [],
): Promise<Uint8Array<ArrayBuffer>> {
  const slice = async ([start, end]: readonly [number, number]) => file.slice(start, end);
  const groups = await readGroups(file.length, slice);
  const chosen = groups.map(({ group }) => selectChunks(group, columns));
  const ranges = chosen.flatMap((group) => group.columns.map(chunkRange));
  const writer = new ParquetWriter(columns, { compression: "zstandard", constants: CONSTANTS });
  const parts = writer.write(batchOf(around));
  parts.push(...chosen.flatMap((group) => writer.addGroup(group)));
  for await (const piece of readInOrder(planReads(ranges), slice)) parts.push(piece);
  parts.push(...writer.write(batchOf(around)), ...writer.finish());
  return concat(parts);
}

test("copied columns are byte for byte those that are encoded", async () => {
  const any = fc.asyncProperty(anyRows, anyColumns, async (rows, columns) => {
    const copied = await copyColumns(writeRows(COLUMNS, rows), columns);
    expect(await digestOf(copied)).toBe(await digestOf(writeRows(columns, rows)));
  });
  await fc.assert(any, { numRuns: 60 });
});

test("copied columns are those that are encoded, in groups of 10,000 rows too", async () => {
  const rows = Array.from(
    { length: 20_500 },
    (_, n): Row => ({
      ...{ id: `${n}`, start_us: 1e15 + n, status: "success", inputs: `${n % 7}` },
    }),
  );
  const columns = COLUMNS.filter(({ name }) => ["status", "inputs", "start_time"].includes(name));
  const copied = await copyColumns(writeRows(COLUMNS, rows), columns);
  expect(await digestOf(copied)).toBe(await digestOf(writeRows(columns, rows)));
});

test("groups are copied between rows that are encoded", async () => {
  const rows = Array.from(
    { length: 30 },
    (_, n): Row => ({
      ...ODD_ROWS[0],
      id: `${n}`,
      inputs: `${n % 10}`.repeat(1_000_000),
    }),
  );
  const columns = COLUMNS.filter(({ name }) => !["outputs", "tags"].includes(name));
  const copied = await copyColumns(writeRows(COLUMNS, rows), columns, ODD_ROWS);
  const all = [...ODD_ROWS, ...rows, ...ODD_ROWS];
  const found = await readRows(copied, columns);
  expect(found.length).toBe(all.length);
  for (const [n, row] of all.entries()) expect(found[n]).toEqual(expectedRow(columns, row));
});

test("reads combine near ranges, are bounded and keep the order", async () => {
  const anyRanges = fc.array(fc.tuple(fc.nat({ max: 2e6 }), fc.nat({ max: 9e6 })), {
    maxLength: 6,
  });
  const file = Uint8Array.from({ length: 1 << 16 }, (_, n) => n * 7);
  const any = fc.asyncProperty(anyRanges, async (steps) => {
    const ranges: (readonly [number, number])[] = [];
    for (const [gap, length] of steps) {
      const start = (ranges.at(-1)?.[1] ?? 0) + gap;
      ranges.push([start, start + length]);
    }
    const reads = planReads(ranges);
    let inFlight = 0;
    const pieces = readInOrder(reads, async ([start, end]) => {
      expect(end - start).toBeLessThanOrEqual(4 * 1024 * 1024);
      expect(++inFlight).toBeLessThanOrEqual(3);
      await Promise.resolve();
      inFlight--;
      // Bytes that follow from their place.
      const from = start % file.length;
      return concat(Array.from({ length: 2 + (end - start) / file.length }, () => file)).subarray(
        from,
        from + end - start,
      );
    });
    let next = 0;
    const wanted = ranges.filter(([start, end]) => end > start);
    let [place = 0, end = 0] = wanted[0] ?? [];
    for await (const piece of pieces) {
      expect([piece.length <= end - place, piece[0]]).toEqual([true, (place * 7) % 256]);
      place += piece.length;
      if (place === end) [place = 0, end = 0] = wanted[++next] ?? [];
    }
    expect(next).toBe(wanted.length);
  });
  await fc.assert(any, { numRuns: 30 });
  expect(
    planReads([
      [0, 10],
      [200_000, 200_010],
    ]),
  ).toHaveLength(1);
  expect(
    planReads([
      [0, 10],
      [600_000, 600_010],
    ]),
  ).toHaveLength(2);
});
