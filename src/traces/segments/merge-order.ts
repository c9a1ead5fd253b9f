/** Sorted list of one segment in a merge of several. */
export type SortedRuns = {
  /** Keys in ascending order, none below the bound of the input. */
  keys: Float64Array;
  runs: Uint16Array;
};

/** List that is opened once the merge reaches its bound. `open` returns keys of at least `bound`. */
export type MergeInput<T> = { bound: number; open: () => SortedRuns; segment: T };

type Cursor<T> = { segment: T; list: SortedRuns; at: number };
type CompareTies<T> = (a: T, run_a: number, b: T, run_b: number) => number;

/** Yields runs in ascending order of their keys, then of `compareTies`. Opens a list only when its bound is reached. */
export function* mergeSorted<T>(
  inputs: MergeInput<T>[],
  compareTies: CompareTies<T>,
): Generator<{ segment: T; n: number; key: number }> {
  const waiting = inputs.sort((a, b) => b.bound - a.bound);
  const heap = new CursorHeap<T>(compareTies);
  for (;;) {
    for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
      if (next.bound > heap.leastKey) break;
      waiting.pop();
      heap.add({ segment: next.segment, list: next.open(), at: 0 });
    }
    const least = heap.least;
    if (least === undefined) return;
    const { segment, list, at } = least;
    const run = { segment, n: list.runs[at] ?? 0, key: list.keys[at] ?? 0 };
    heap.advance();
    yield run;
  }
}

/** Binary heap; its least cursor is first. */
class CursorHeap<T> {
  readonly #cursors: Cursor<T>[] = [];
  readonly #compareTies: CompareTies<T>;

  constructor(compareTies: CompareTies<T>) {
    this.#compareTies = compareTies;
  }

  get least(): Cursor<T> | undefined {
    return this.#cursors[0];
  }

  get leastKey(): number {
    const least = this.least;
    return least === undefined ? Number.POSITIVE_INFINITY : keyOf(least);
  }

  add(cursor: Cursor<T>): void {
    if (cursor.list.keys.length === 0) return;
    const cursors = this.#cursors;
    cursors.push(cursor);
    for (let at = cursors.length - 1; at > 0; ) {
      const above = (at - 1) >>> 1;
      if (!this.#swapIfLess(at, above)) return;
      at = above;
    }
  }

  /** Moves the least cursor to its next run. */
  advance(): void {
    const cursors = this.#cursors;
    const [least] = cursors;
    if (least === undefined) return;
    least.at += 1;
    if (least.at === least.list.keys.length) {
      const last = cursors.pop();
      if (last !== undefined && cursors.length > 0) cursors[0] = last;
    }
    this.#sink();
  }

  #sink(): void {
    const { length } = this.#cursors;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const less = right < length && this.#isLess(right, left) ? right : left;
      if (less >= length || !this.#swapIfLess(less, at)) return;
      at = less;
    }
  }

  #swapIfLess(below: number, above: number): boolean {
    if (!this.#isLess(below, above)) return false;
    const cursors = this.#cursors;
    const [a, b] = [cursors[below], cursors[above]];
    if (a === undefined || b === undefined) return false;
    [cursors[above], cursors[below]] = [a, b];
    return true;
  }

  #isLess(n: number, m: number): boolean {
    const [a, b] = [this.#cursors[n], this.#cursors[m]];
    if (a === undefined || b === undefined) return false;
    const [key_a, key_b] = [keyOf(a), keyOf(b)];
    if (key_a !== key_b) return key_a < key_b;
    return (
      this.#compareTies(a.segment, a.list.runs[a.at] ?? 0, b.segment, b.list.runs[b.at] ?? 0) < 0
    );
  }
}

function keyOf<T>({ list, at }: Cursor<T>): number {
  return list.keys[at] ?? 0;
}
