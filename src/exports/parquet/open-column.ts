import type { ColumnChunk } from "hyparquet";
import type { Cells } from "./cells.ts";
import type { Codec } from "./codecs.ts";
import type { PartWriter } from "./part-writer.ts";

/** A column of the open row group. */
export type OpenColumn = {
  /** Copies the cells. Where the cell of a list is null, the list is derived from `fallback`. */
  add(cells: Cells, fallback: Cells | undefined): void;
  /** Writes the column's pages to the file, empties the column, and returns its entry of the footer. */
  close(file: PartWriter, codec: Codec): ColumnChunk;
};
