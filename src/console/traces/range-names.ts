export const RANGE_NAMES = ["1h", "3h", "12h", "24h", "7d", "30d"] as const;
export type RangeName = (typeof RANGE_NAMES)[number];
