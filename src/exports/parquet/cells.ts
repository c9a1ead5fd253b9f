import {
  NULL_SIZE,
  type PackedTexts,
  packedBytes,
  unpackTexts,
} from "../../traces/reads/packed-texts.ts";
import type { Column } from "../columns.ts";

type Cell = string | number | null;
/** The cells of one column: an array, or texts as SQLite joined them. */
export type Cells = readonly Cell[] | PackedTexts;

const NUMBER_BYTES = 8;
const utf8 = new TextEncoder();

export function isPacked(cells: Cells): cells is PackedTexts {
  return "bytes" in cells;
}

export function countCells(cells: Cells): number {
  return isPacked(cells) ? cells.sizes.length : cells.length;
}

export function sliceCells(cells: Cells, from: number, to: number): Cells {
  if (!isPacked(cells)) return cells.slice(from, to);
  return { bytes: packedBytes(cells, from, to), sizes: cells.sizes.subarray(from, to) };
}

/** Adds the size of each cell to its row: UTF-8 bytes of a text, 8 for a number, packed or not. */
export function addSizes(sizes: Float64Array, cells: Cells): void {
  const bytes = isPacked(cells) ? cells.sizes : Int32Array.from(cells, sizeOf);
  for (const [row, size] of bytes.entries()) {
    if (size !== NULL_SIZE) sizes[row] = (sizes[row] ?? 0) + size;
  }
}

function sizeOf(cell: Cell): number {
  if (cell === null) return NULL_SIZE;
  return typeof cell === "string" ? Buffer.byteLength(cell) : NUMBER_BYTES;
}

/** Converts cells to what hyparquet-writer takes for the column's type. Cells outside of the type become null. */
export function toValues(column: Column, cells: Cells, fallback: Cells | undefined): unknown[] {
  const all = unpack(cells);
  switch (column.type) {
    case "text":
      return all.map((cell) => (cell === null ? null : String(cell)));
    case "texts":
      return toLists(column, all, fallback && unpack(fallback));
    case "boolean":
      return all.map((cell) => (cell === null ? null : Number(cell) !== 0));
    case "double":
      return all.map((cell) => (cell !== null && Number.isFinite(Number(cell)) ? +cell : null));
    case "integer":
    case "timestamp":
      return all.map((cell) => (cell !== null && isInt64(Number(cell)) ? BigInt(cell) : null));
  }
}

function unpack(cells: Cells): readonly Cell[] {
  return isPacked(cells) ? unpackTexts(cells) : cells;
}

function isInt64(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) < 2 ** 63;
}

/** Lists hold UTF-8: the runs of a trace share their ancestors' ids, which are encoded once. */
function toLists(
  { items = JSON.parse }: Column,
  all: readonly Cell[],
  fallback: readonly Cell[] | undefined,
) {
  const encoded = new Map<string, Uint8Array>();
  const encode = (text: string | null) => {
    if (text === null) return null;
    const bytes = encoded.get(text) ?? utf8.encode(text);
    encoded.set(text, bytes);
    return bytes;
  };
  return all.map((cell, row) => {
    if (cell !== null) return (items(String(cell)) as (string | null)[]).map(encode);
    if (fallback === undefined) return null;
    const other = fallback[row] ?? null;
    return other === null ? [] : [encode(String(other))];
  });
}
