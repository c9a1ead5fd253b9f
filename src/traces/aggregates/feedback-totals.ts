/** Totals of the feedback with one key. */
export type FeedbackTotals = {
  key: string;
  n: number;
  /** Number of entries with a score. */
  scores: number;
  /** Sum of the scores, `null` beyond the range of a double: JSON has no infinity. */
  sum: number | null;
  /** Number of times each text was given, by its first `MAX_SHOWN_CHARS` characters. */
  values: Record<string, number>;
};

/** Returns the totals by key. */
export function mergeFeedback(lists: FeedbackTotals[]): FeedbackTotals[] {
  const merged = new Map<string, FeedbackTotals>();
  for (const one of lists) {
    const known = merged.get(one.key);
    if (known === undefined) {
      merged.set(one.key, { ...one, values: { ...one.values } });
      continue;
    }
    known.n += one.n;
    known.scores += one.scores;
    known.sum = addScores(known.sum, one.sum);
    for (const [value, n] of Object.entries(one.values)) {
      // A value may be the name of a method of objects.
      const before = Object.hasOwn(known.values, value) ? known.values[value] : undefined;
      known.values[value] = (before ?? 0) + n;
    }
  }
  return [...merged.values()];
}

/** @returns `null` beyond the range of a double */
export function addScores(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : finiteOrNull(a + b);
}

export function finiteOrNull(value: number | null): number | null {
  return Number.isFinite(value) ? value : null;
}

export function toFeedbackStats(lists: FeedbackTotals[]) {
  return Object.fromEntries(
    mergeFeedback(lists).map(({ key, n, scores, sum, values }) => [
      key,
      { n, avg: scores === 0 || sum === null ? null : sum / scores, values },
    ]),
  );
}
