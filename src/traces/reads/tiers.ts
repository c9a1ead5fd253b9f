import { EVERY_RUN } from "../rows/run-source.ts";
import type { RunView } from "../rows/run-view.ts";
import { farTraces, type MaybeFarTrace } from "./reads.ts";
import type { RunReader } from "./run-reader.ts";

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
    for (const run of this.#reader.source.live(EVERY_RUN)) {
      const { trace_id } = run;
      if (isLong.get(trace_id) === true) continue;
      isLong.set(trace_id, tier === "shortlived" && this.#isLonglived(run));
    }
    const trace_ids = [...isLong].flatMap(([id, isKept]) => (isKept ? [] : [id]));
    const far = tier === "all" ? [] : [...farTraces(this.#reader)];
    return {
      trace_ids,
      far: far.filter(({ trace_id }) => isLong.get(trace_id) === false),
      is_all: trace_ids.length === isLong.size,
    };
  }

  /** @param trace_ids traces to choose from, `null` for those that began on another day or may have */
  longlived(trace_ids: string[] | null): string[] {
    const { source } = this.#reader;
    const among =
      trace_ids ?? new Set([...farTraces(this.#reader)].map(({ trace_id }) => trace_id));
    return [...among].filter((id) => source.ofTrace(id).some((run) => this.#isLonglived(run)));
  }

  #isLonglived({ id, trace_tier }: RunView): boolean {
    return trace_tier !== "shortlived" || this.#extended.has(id);
  }
}
