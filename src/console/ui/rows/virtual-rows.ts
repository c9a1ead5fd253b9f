import { defaultRangeExtractor, type Range } from "@tanstack/react-virtual";

/** Returns the rows in view and the chosen one, which stays in the document so that its id and its focus survive. */
export function withRow(range: Range, chosen: number): number[] {
  const rows = defaultRangeExtractor(range);
  const isThere = chosen < 0 || chosen >= range.count || rows.includes(chosen);
  return isThere ? rows : [...rows, chosen].sort((a, b) => a - b);
}
