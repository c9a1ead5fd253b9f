const FIRST_DAY = "2026-05-05";
const DAY_MS = 24 * 60 * 60 * 1000;

/** Runs that are spread evenly over whole days. */
export type SeededDays = { runs: number; days: number };

/** Start of the nth run in epoch milliseconds. */
export function startOfRun(n: number, { runs, days }: SeededDays): number {
  return Date.parse(FIRST_DAY) + Math.floor((n * days * DAY_MS) / runs);
}
