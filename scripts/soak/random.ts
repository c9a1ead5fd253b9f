/**
 * Numbers that depend on the seed alone, so that a failure can be repeated. `upTo` and `between` include both bounds.
 */
export type Random = {
  fork(): Random;
  upTo(most: number): number;
  chance(share: number): boolean;
  between(least: number, most: number): number;
  /** Returns an entry in proportion to its weight. */
  pick<T extends string>(weights: Record<T, number>): T;
};

export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  // mulberry32
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const upTo = (most: number) => Math.floor(next() * (most + 1));
  return {
    /** Separate generators keep the draws of concurrent work independent. */
    fork: (): Random => randomOf(upTo(2 ** 32 - 1)),
    upTo,
    chance: (share: number) => next() < share,
    between: (least: number, most: number) => least + upTo(most - least),
    pick<T extends string>(weights: Record<T, number>): T {
      const entries = Object.entries(weights) as [T, number][];
      const sum = entries.reduce((total, [, weight]) => total + weight, 0);
      let left = next() * sum;
      for (const [name, weight] of entries) {
        left -= weight;
        if (left < 0) return name;
      }
      return entries[entries.length - 1]?.[0] as T;
    },
  };
}
