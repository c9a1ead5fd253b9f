import { NULL_SIZE, type PackedTexts } from "../reads/packed-texts.ts";
import type { RowsPart } from "../reads/scan-page.ts";
import { isNumeric, type RunColumn, type ScanColumns } from "../reads/scan-types.ts";

/** Decodes a part: numbers as values, texts packed. */
export function toColumns(
  { rows, numbers, texts }: Pick<RowsPart, "rows" | "numbers" | "texts">,
  columns: readonly RunColumn[],
): ScanColumns {
  const table: (number | null)[][] = JSON.parse(numbers);
  const names = columns.filter((name) => !isNumeric(name));
  const packed = names.map((name, at) => {
    const sizes = new Int32Array(rows);
    for (let row = 0; row < rows; row++) sizes[row] = table[row]?.[at] ?? NULL_SIZE;
    const one: PackedTexts = { bytes: new Uint8Array(texts[at] ?? new ArrayBuffer(0)), sizes };
    return [name, one] as const;
  });
  const values = columns.filter(isNumeric).map((name, n) => {
    const at = names.length + n;
    return [name, table.map((row) => row[at] ?? null)] as const;
  });
  return Object.fromEntries([...packed, ...values]);
}
