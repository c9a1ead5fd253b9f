import type { Filter } from "../filter/tree.ts";
import type { RunSource } from "../rows/run-source.ts";
import type { RunTest, RunView } from "../rows/run-view.ts";

/** Tests whether the trace of a run has a run that matches a filter. */
export interface TraceTest {
  /** Traces that can match, `null` for all. */
  readonly among: ReadonlySet<string> | null;
  /** Number of runs that this test has read and tested so far. */
  readonly tested: number;
  /** Whether a test of the run's trace reads no further runs. */
  isKnown(run: RunView): boolean;
  has(run: RunView): boolean;
}

/** Whether a filter reads the texts of each run that it tests. */
export function readsTexts(filter: Filter | null): boolean {
  switch (filter?.kind) {
    case "and":
    case "or":
      return filter.filters.some(readsTexts);
    case "not":
      return readsTexts(filter.filter);
    default:
      return filter?.kind === "words";
  }
}

/** Traces that were all found before the first test. */
export class FoundTraces implements TraceTest {
  readonly among: ReadonlySet<string>;
  readonly tested = 0;

  constructor(traces: ReadonlySet<string>) {
    this.among = traces;
  }

  isKnown(): boolean {
    return true;
  }

  has({ trace_id }: RunView): boolean {
    return this.among.has(trace_id);
  }
}

/**
 * Tests the runs of a trace when the trace is first needed: a search of all texts at once would hold up other calls.
 */
export class TracesInTurn implements TraceTest {
  readonly among: ReadonlySet<string> | null;
  tested = 0;
  readonly #source: Pick<RunSource, "ofTrace">;
  readonly #isMatch: RunTest;
  readonly #known: Map<string, boolean>;

  /** @param matches traces that match by a run of another partition */
  constructor(
    source: Pick<RunSource, "ofTrace">,
    isMatch: RunTest,
    { among, matches }: { among: ReadonlySet<string> | null; matches: readonly string[] },
  ) {
    this.#source = source;
    this.#isMatch = isMatch;
    this.#known = new Map(matches.map((trace_id) => [trace_id, true]));
    this.among = among === null ? null : new Set([...among, ...matches]);
  }

  isKnown({ trace_id }: RunView): boolean {
    return this.among?.has(trace_id) === false || this.#known.has(trace_id);
  }

  has({ trace_id }: RunView): boolean {
    if (this.among?.has(trace_id) === false) return false;
    const known = this.#known.get(trace_id);
    if (known !== undefined) return known;
    const isFound = this.#source.ofTrace(trace_id).some((run) => {
      this.tested += 1;
      return this.#isMatch(run);
    });
    this.#known.set(trace_id, isFound);
    return isFound;
  }
}
