/** Serialized sketch: its values, or for more than `MAX_VALUES` the number of values in each bucket. */
export type SketchData = { values: number[] } | { buckets: [index: number, n: number][] };

const MAX_VALUES = 200;
/** Width of a bucket as a logarithm: 1 %, so that its middle is at most 0.5 % off. */
const LOG_STEP = Math.log(1.01);
/** Index of the bucket of zero, below that of each positive double. */
const ZERO = -1_000_000;

/** Mergeable distribution of numbers. A negative number counts as zero. Exact up to `MAX_VALUES` values. */
export class Sketch {
  #values: number[] = [];
  readonly #buckets = new Map<number, number>();

  add(value: number): void {
    if (this.#buckets.size > 0) {
      this.#count(indexOf(value), 1);
      return;
    }
    this.#values.push(Math.max(value, 0));
    if (this.#values.length <= MAX_VALUES) return;
    for (const held of this.#values) this.#count(indexOf(held), 1);
    this.#values = [];
  }

  merge(data: SketchData): void {
    if ("values" in data) {
      for (const value of data.values) this.add(value);
      return;
    }
    for (const [index, n] of data.buckets) this.#count(index, n);
    for (const held of this.#values) this.#count(indexOf(held), 1);
    this.#values = [];
  }

  /** @returns `null` when there are no values */
  quantile(q: number): number | null {
    return this.#buckets.size === 0 ? exactQuantile(this.#values, q) : this.#bucketQuantile(q);
  }

  /** Returns the sum of the values. Beyond `MAX_VALUES`, each counts with the middle of its bucket. */
  sum(): number {
    const few = this.#values.reduce((total, value) => total + value, 0);
    return [...this.#buckets].reduce((total, [index, n]) => total + middleOf(index) * n, few);
  }

  toData(): SketchData {
    if (this.#buckets.size === 0) return { values: this.#values };
    return { buckets: [...this.#buckets] };
  }

  #count(index: number, n: number): void {
    this.#buckets.set(index, (this.#buckets.get(index) ?? 0) + n);
  }

  #bucketQuantile(q: number): number {
    const buckets = [...this.#buckets].sort(([a], [b]) => a - b);
    const total = buckets.reduce((sum, [, n]) => sum + n, 0);
    let left = Math.round(q * (total - 1));
    for (const [index, n] of buckets) {
      left -= n;
      if (left < 0) return middleOf(index);
    }
    return 0;
  }
}

function indexOf(value: number): number {
  return value > 0 ? Math.ceil(Math.log(value) / LOG_STEP) : ZERO;
}

function middleOf(index: number): number {
  if (index === ZERO) return 0;
  const step = Math.exp(LOG_STEP);
  return (2 * Math.exp(index * LOG_STEP)) / (1 + step);
}

/** Interpolates linearly between two values. @returns `null` when there are none */
function exactQuantile(values: number[], q: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const at = q * (sorted.length - 1);
  const below = sorted[Math.floor(at)];
  const above = sorted[Math.ceil(at)];
  if (below === undefined || above === undefined) return null;
  return below + (above - below) * (at - Math.floor(at));
}
