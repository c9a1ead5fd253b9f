import { type DescendantsWithUsage, EVERY_RUN, type RunSource } from "../rows/run-source.ts";
import type { RunView } from "../rows/run-view.ts";
import type { Usage } from "../usage.ts";
import {
  hasTokensAndCosts,
  hasUsage,
  ownUsage,
  TraceUsage,
  type UsageRun,
  withBelow,
} from "./trace-usage.ts";

/** Maximum number of traces in memory. */
const MAX_TRACES = 2000;

/** Caches the usage of traces. Valid until a run changes. */
export class UsageIndex {
  readonly #source: RunSource;
  readonly #descendantsWithUsage: DescendantsWithUsage;
  readonly #traces = new Map<string, TraceUsage>();

  constructor(source: RunSource) {
    this.#source = source;
    this.#descendantsWithUsage = source.descendantsWithUsage();
  }

  /** Returns the tokens and the costs of a run. Those that it lacks are the sums of the runs below it. */
  of(run: RunView): Usage {
    return this.summed(run) ?? ownUsage(run);
  }

  /** @returns the usage as `of` has it, or `null` when that is the run's own */
  summed(run: RunView): Usage | null {
    const below = this.#descendantsWithUsage(run);
    if (below?.length === 0 || hasTokensAndCosts(run)) return null;
    return below === null ? this.trace(run.trace_id).summed(run) : withBelow(run, below);
  }

  trace(trace_id: string): TraceUsage {
    const known = this.#traces.get(trace_id);
    if (known !== undefined) return known;
    const found = new TraceUsage(this.#source.ofTrace(trace_id));
    const [oldest] = this.#traces.size < MAX_TRACES ? [] : this.#traces.keys();
    if (oldest !== undefined) this.#traces.delete(oldest);
    this.#traces.set(trace_id, found);
    return found;
  }

  /** Yields the runs whose usage counts, of all traces. */
  *counted(): Generator<UsageRun> {
    const traces = new Set<string>();
    for (const run of this.#source.live(EVERY_RUN)) {
      if (!hasUsage(run) || traces.has(run.trace_id)) continue;
      traces.add(run.trace_id);
      yield* new TraceUsage(this.#source.ofTrace(run.trace_id)).counted();
    }
  }
}
