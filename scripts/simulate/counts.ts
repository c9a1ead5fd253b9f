import counts from "./counts.json" with { type: "json" };

/** Counts of the tests: `npm run counts` replaces them. */
export type Counts = typeof counts;
export const COUNTS: Counts = counts;
