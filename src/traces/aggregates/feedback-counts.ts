import type { FeedbackLookup } from "../reads/feedback-lookup.ts";
import { type FeedbackEntry, MAX_SHOWN_CHARS } from "../rows/rows.ts";
import { addScores, type FeedbackTotals } from "./feedback-totals.ts";

/** Maximum number of returned keys, and of returned values of all keys together. */
const MAX_KEYS = 200;
const MAX_VALUES = 1000;
/** Maximum number of values in memory, to find the most frequent. Further values are not counted. */
const MAX_COUNTED = 10_000;

type ValueCount = { key: string; value: string; n: number };

/** Feedback of chosen runs by key. */
export class FeedbackCounts {
  readonly #feedback: FeedbackLookup;
  readonly #runs = new Set<string>();

  constructor(feedback: FeedbackLookup) {
    this.#feedback = feedback;
  }

  addRun(id: string): void {
    if (this.#feedback.mayHave(id)) this.#runs.add(id);
  }

  totals(): FeedbackTotals[] {
    const keys = new Map<string, FeedbackTotals>();
    const values = new Map<string, ValueCount>();
    for (const entry of this.#entries()) {
      const total = keys.get(entry.key) ?? { key: entry.key, n: 0, scores: 0, sum: 0, values: {} };
      keys.set(entry.key, total);
      total.n += 1;
      total.scores += entry.score === null ? 0 : 1;
      total.sum = addScores(total.sum, entry.score ?? 0);
      countValue(values, entry);
    }
    const often = [...values.values()].sort((a, b) => b.n - a.n).slice(0, MAX_VALUES);
    for (const { key, value, n } of often)
      Object.assign(keys.get(key)?.values ?? {}, { [value]: n });
    const sorted = [...keys.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
    return sorted.slice(0, MAX_KEYS);
  }

  *#entries(): Generator<FeedbackEntry> {
    if (this.#runs.size === 0) return;
    for (const entry of this.#feedback.withTextValues())
      if (this.#runs.has(entry.run_id)) yield entry;
  }
}

function countValue(values: Map<string, ValueCount>, { key, value: whole }: FeedbackEntry): void {
  if (whole === null) return;
  const value = whole.slice(0, MAX_SHOWN_CHARS).toWellFormed();
  const name = JSON.stringify([key, value]);
  const known = values.get(name);
  if (known) known.n += 1;
  else if (values.size < MAX_COUNTED) values.set(name, { key, value, n: 1 });
}
