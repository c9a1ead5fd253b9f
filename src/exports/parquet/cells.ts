import {
  isPacked,
  type PackedTexts,
  packedBytes,
  unpackTexts,
} from "../../traces/rows/packed-texts.ts";

type Cell = string | number | null;
/** The cells of one column: an array, numbers of which NaN is null, or packed texts. */
export type Cells = readonly Cell[] | Float64Array | PackedTexts;

const NUMBER_BYTES = 8;

export function countCells(cells: Cells): number {
  return isPacked(cells) ? cells.sizes.length : cells.length;
}

export function sliceCells(cells: Cells, from: number, to: number): Cells {
  if (cells instanceof Float64Array) return cells.subarray(from, to);
  if (!isPacked(cells)) return cells.slice(from, to);
  return { bytes: packedBytes(cells, from, to), sizes: cells.sizes.subarray(from, to) };
}

/** Adds the size of each cell in bytes to the size of its row. A text counts its UTF-8 bytes, a number 8, null 0. */
export function addSizes(sizes: Float64Array, cells: Cells): void {
  if (cells instanceof Float64Array) addNumberSizes(sizes, cells);
  else if (!isPacked(cells)) addCellSizes(sizes, cells);
  else for (let row = 0; row < sizes.length; row++) add(sizes, row, cells.sizes[row] ?? 0);
}

function addNumberSizes(sizes: Float64Array, cells: Float64Array): void {
  for (let row = 0; row < sizes.length; row++) {
    if (!Number.isNaN(cells[row])) add(sizes, row, NUMBER_BYTES);
  }
}

function add(sizes: Float64Array, row: number, size: number): void {
  if (size > 0) sizes[row] = (sizes[row] ?? 0) + size;
}

/** Measures consecutive equal texts only once. */
function addCellSizes(sizes: Float64Array, cells: readonly Cell[]): void {
  let last = { text: "", bytes: 0 };
  for (let row = 0; row < sizes.length; row++) {
    const cell = cells[row] ?? null;
    if (cell === null) continue;
    if (typeof cell !== "number" && cell !== last.text) {
      last = { text: cell, bytes: Buffer.byteLength(cell) };
    }
    add(sizes, row, typeof cell === "number" ? NUMBER_BYTES : last.bytes);
  }
}

export function unpackCells(cells: Cells): readonly Cell[] {
  if (isPacked(cells)) return unpackTexts(cells);
  if (!(cells instanceof Float64Array)) return cells;
  return Array.from(cells, (value) => (Number.isNaN(value) ? null : value));
}
