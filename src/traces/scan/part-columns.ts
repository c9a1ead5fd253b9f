import { statsOf } from "../query/to-run.ts";
import type { ScannedRows } from "../reads/run-pages.ts";
import type { RowsPart } from "../reads/scan-page.ts";
import { isNumeric, type RunColumn, type ScanColumns } from "../reads/scan-types.ts";
import type { PackedTexts } from "../rows/packed-texts.ts";

/** Returns the feedback statistics of each row as JSON text, `null` without feedback. */
export function feedbackStats(
  { rows, ids }: RowsPart,
  annotations: ScannedRows["annotations"],
): (string | null)[] {
  if (annotations === null) return new Array(rows).fill(null);
  const { feedback, values } = annotations;
  const feedbackByRun = Map.groupBy(feedback, ({ run_id }) => run_id);
  const valuesByRun = Map.groupBy(values, ({ run_id }) => run_id);
  return ids.map((id) => {
    const ofRun = feedbackByRun.get(id);
    if (ofRun === undefined) return null;
    return JSON.stringify(statsOf(id, { feedback: ofRun, values: valuesByRun.get(id) ?? [] }));
  });
}

/** Returns the columns as views of the part's buffers, which have text and number columns in the order of `columns`. */
export function toColumns(
  { rows, numbers, sizes, texts }: Pick<RowsPart, "rows" | "numbers" | "sizes" | "texts">,
  columns: readonly RunColumn[],
): ScanColumns {
  const packed = columns
    .filter((name) => !isNumeric(name))
    .map((name, at): [string, PackedTexts] => [
      name,
      {
        bytes: new Uint8Array(texts[at] ?? new ArrayBuffer(0)),
        sizes: new Int32Array(sizes, Int32Array.BYTES_PER_ELEMENT * rows * at, rows),
      },
    ]);
  const values = columns
    .filter(isNumeric)
    .map((name, at): [string, Float64Array] => [
      name,
      new Float64Array(numbers, Float64Array.BYTES_PER_ELEMENT * rows * at, rows),
    ]);
  return Object.fromEntries([...packed, ...values]);
}
