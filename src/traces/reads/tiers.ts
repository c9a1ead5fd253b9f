import { rootDayOf } from "../dotted-order.ts";
import { EVERY_RUN } from "../rows/run-source.ts";
import type { RunView } from "../rows/run-view.ts";
import type { RunReader } from "./run-reader.ts";

/** `root_day` is `null` when it is unknown: a run of the trace has no dotted order. */
export type MaybeFarTrace = { root_day: string | null; trace_id: string };

/**
 * Traces that expire unless another partition has longer-lived runs of them, and those of them that
 * began on another day or may have. `is_all`: no other trace has runs here.
 */
export type ExpiringTraces = { trace_ids: string[]; far: MaybeFarTrace[]; is_all: boolean };
/** `all` ignores the tiers. */
export type ExpiryTier = "shortlived" | "all";

/** Reads the tiers of traces. A trace is as long-lived as its longest-lived run in any partition. */
export class TraceTiers {
  readonly #reader: RunReader;
  readonly #extended: ReadonlySet<string>;

  /** @param extended runs whose feedback extends the retention; it can precede the run */
  constructor(reader: RunReader, extended: ReadonlySet<string>) {
    this.#reader = reader;
    this.#extended = extended;
  }

  expiring(tier: ExpiryTier): ExpiringTraces {
    const isLong = new Map<string, boolean>();
    const far = new Map<string, MaybeFarTrace>();
    for (const run of this.#reader.source.live(EVERY_RUN)) {
      const { trace_id } = run;
      if (isLong.get(trace_id) === true) continue;
      isLong.set(trace_id, tier === "shortlived" && this.#isLonglived(run));
      if (tier === "all" || !mayBeFar(run)) continue;
      const root_day = rootDayOf(run);
      far.set(`${root_day}/${trace_id}`, { root_day, trace_id });
    }
    const trace_ids = [...isLong].flatMap(([id, isKept]) => (isKept ? [] : [id]));
    return {
      trace_ids,
      far: [...far.values()].filter(({ trace_id }) => isLong.get(trace_id) === false),
      is_all: trace_ids.length === isLong.size,
    };
  }

  /** @param trace_ids traces to choose from, `null` for those that began on another day or may have */
  longlived(trace_ids: string[] | null): string[] {
    const { source } = this.#reader;
    if (trace_ids === null) return this.#longlivedFar();
    return trace_ids.filter((id) => source.ofTrace(id).some((run) => this.#isLonglived(run)));
  }

  /** Reads each run once: all traces may be far, as those of callers in other services. */
  #longlivedFar(): string[] {
    const far = new Set<string>();
    const long = new Set<string>();
    for (const run of this.#reader.source.live(EVERY_RUN)) {
      if (this.#isLonglived(run)) long.add(run.trace_id);
      if (!far.has(run.trace_id) && mayBeFar(run)) far.add(run.trace_id);
    }
    return [...far].filter((id) => long.has(id));
  }

  #isLonglived({ id, trace_tier }: RunView): boolean {
    return trace_tier !== "shortlived" || this.#extended.has(id);
  }
}

function mayBeFar(run: RunView): boolean {
  return run.dotted_order === null || rootDayOf(run) !== null;
}
