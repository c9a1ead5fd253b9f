import { DecimalSum } from "./decimals.ts";
import { Sketch, type SketchData } from "./sketch.ts";
import type { Usage } from "./usage.ts";

export type CountedRun = Usage & {
  start_us: number;
  end_us: number | null;
  first_token_us: number | null;
  status: string;
  /** Time in the queue before the start, absent where it is not read. */
  queue_wait_ms?: number | null;
};

export const TOKENS = ["total_tokens", "prompt_tokens", "completion_tokens"] as const;
export const COSTS = ["total_cost", "prompt_cost", "completion_cost"] as const;
export function isUsage(name: string): name is keyof Usage {
  return [...TOKENS, ...COSTS].some((column) => column === name);
}

/** Names of distributions. The catalogue stores only `TIMES`. */
export const TIMES = ["latency", "first_token"] as const;
export const DISTRIBUTIONS = [...TIMES, ...TOKENS, "total_cost"] as const;
/** Names of the distributions that each bucket of a time series has. */
export const SERIES_TIMES = [...TIMES, "queue_wait"] as const;
export type Distribution = (typeof DISTRIBUTIONS | typeof SERIES_TIMES)[number];

export type TotalsData = {
  runs: number;
  errors: number;
  streamed: number;
  min_start_us: number | null;
  max_start_us: number | null;
  tokens: Record<(typeof TOKENS)[number], number>;
  costs: Record<(typeof COSTS)[number], string | null>;
  sketches: Partial<Record<Distribution, SketchData>>;
};

/** Mergeable sums and distributions in bounded memory. */
export class RunTotals {
  runs = 0;
  errors = 0;
  streamed = 0;
  min_start_us: number | null = null;
  max_start_us: number | null = null;
  readonly tokens = { total_tokens: 0, prompt_tokens: 0, completion_tokens: 0 };
  readonly #costs = {
    total_cost: new DecimalSum(),
    prompt_cost: new DecimalSum(),
    completion_cost: new DecimalSum(),
  };
  readonly #sketches: Map<Distribution, Sketch>;

  constructor(distributions: readonly Distribution[]) {
    this.#sketches = new Map(distributions.map((name) => [name, new Sketch()]));
  }

  add(run: CountedRun): void {
    this.runs += 1;
    if (run.status === "error") this.errors += 1;
    if (run.first_token_us !== null) this.streamed += 1;
    this.#trackStart(run.start_us);
    this.addUsage(run);
    for (const [name, sketch] of this.#sketches) {
      const value = measure(run, name);
      if (value !== null) sketch.add(value);
    }
  }

  /** Adds usage without counting a run. */
  addUsage(run: Usage): void {
    for (const name of TOKENS) this.#addTokens(name, run[name] ?? 0);
    for (const name of COSTS) this.#costs[name].add(run[name]);
  }

  merge(data: TotalsData): void {
    this.runs += data.runs;
    this.errors += data.errors;
    this.streamed += data.streamed;
    this.#trackStart(data.min_start_us);
    this.#trackStart(data.max_start_us);
    for (const name of TOKENS) this.#addTokens(name, data.tokens[name]);
    for (const name of COSTS) this.#costs[name].add(data.costs[name]);
    for (const [name, sketch] of this.#sketches) {
      const other = data.sketches[name];
      if (other) sketch.merge(other);
    }
  }

  costs(): TotalsData["costs"] {
    const { total_cost, prompt_cost, completion_cost } = this.#costs;
    return {
      total_cost: total_cost.toText(),
      prompt_cost: prompt_cost.toText(),
      completion_cost: completion_cost.toText(),
    };
  }

  quantile(name: Distribution, q: number): number | null {
    return this.#sketches.get(name)?.quantile(q) ?? null;
  }

  /** @returns the sum of a distribution, 0 without values */
  sum(name: Distribution): number {
    return this.#sketches.get(name)?.sum() ?? 0;
  }

  toData(): TotalsData {
    const { runs, errors, streamed, min_start_us, max_start_us, tokens } = this;
    const sketches = [...this.#sketches].map(([name, sketch]) => [name, sketch.toData()]);
    return {
      ...{ runs, errors, streamed, min_start_us, max_start_us, tokens },
      costs: this.costs(),
      sketches: Object.fromEntries(sketches),
    };
  }

  /** Stops at the largest integer that a double holds exactly, because answers have no other integers. */
  #addTokens(name: (typeof TOKENS)[number], count: number): void {
    this.tokens[name] = Math.min(this.tokens[name] + count, Number.MAX_SAFE_INTEGER);
  }

  #trackStart(start_us: number | null): void {
    if (start_us === null) return;
    this.min_start_us = Math.min(start_us, this.min_start_us ?? start_us);
    this.max_start_us = Math.max(start_us, this.max_start_us ?? start_us);
  }
}

/** Returns a run's value in a distribution: times in microseconds, costs in dollars. `null` when the run has none. */
function measure(run: CountedRun, name: Distribution): number | null {
  switch (name) {
    case "latency":
      return run.end_us === null ? null : run.end_us - run.start_us;
    case "first_token":
      return run.first_token_us === null ? null : run.first_token_us - run.start_us;
    case "queue_wait":
      return run.queue_wait_ms == null ? null : run.queue_wait_ms * 1000;
    case "total_cost":
      return run.total_cost === null ? null : Number(run.total_cost);
    default:
      return run[name];
  }
}
