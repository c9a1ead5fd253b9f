const STEPS: Record<string, number> = {
  ArrowDown: 1,
  j: 1,
  ArrowUp: -1,
  k: -1,
  PageDown: 20,
  PageUp: -20,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/** @returns the row that a key moves to, `null` for other keys */
export function rowAfter(key: string, row: number, count: number): number | null {
  const step = STEPS[key];
  return step === undefined ? null : Math.min(Math.max(row + step, 0), count - 1);
}
