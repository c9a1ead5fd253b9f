import { slotsIn } from "../../src/traces/locations/generations.ts";

/** Calls of one delivery: all, and those that write. */
type Calls = { all: number; writes: number };

/** Objects of a project's day, of which the last generation is partly full. */
export class SlotsOfDay {
  /** Share of the day's spans that each generation gets. */
  readonly #shares: number[] = [];

  /** @param slots number of full objects that the day's spans take */
  constructor(slots: number) {
    for (let left = slots; left > 0; ) {
      const held = Math.min(left, slotsIn(this.#shares.length));
      this.#shares.push(held / slots);
      left -= held;
    }
  }

  /** Averages the values of the generations, weighted by their share of the day's spans. */
  average(of: (generation: number) => number): number {
    return this.#shares.reduce((sum, share, generation) => sum + share * of(generation), 0);
  }

  /** Calls of a delivery at the end of the day. */
  last(traces: number): Calls {
    return callsOf(Math.max(0, this.#shares.length - 1), traces);
  }
}

/** Counts the slots of the traces and the first one in each generation. A delivery writes to the open one. */
export function callsOf(generation: number, traces: number): Calls {
  const writes = Math.min(slotsIn(generation), traces);
  let all = writes;
  for (let older = 0; older < generation; older++) all += Math.min(slotsIn(older), traces + 1);
  return { all: generation === 0 ? all : all + 1, writes };
}
