export const RANGE_NAMES = ["1h", "3h", "12h", "24h", "7d", "30d"] as const;
export type RangeName = (typeof RANGE_NAMES)[number];

export const DEFAULT_RANGE: RangeName = "24h";

/** Returns the length of a range, such as `24 h` or `7 days`. */
export function rangeLength(range: RangeName): string {
  return range.replace("h", " h").replace("d", " days");
}
