import type { RunsQuery } from "../reads/query.ts";
import type { RunReader } from "../reads/run-reader.ts";
import { EVERY_RUN } from "../rows/run-source.ts";
import { DISTRIBUTIONS, type Distribution, RunTotals, TIMES, type TotalsData } from "../totals.ts";
import { NO_USAGE } from "../usage.ts";
import { FeedbackCounts } from "./feedback-counts.ts";
import type { FeedbackTotals } from "./feedback-totals.ts";
import {
  type GroupBy,
  type MatchingRun,
  type RunLabels,
  readMatching,
  timingOf,
  UsageOnce,
} from "./matching-runs.ts";

export type Facet = { key: "name" | "run_type" | "status"; value: string; n: number };
export type GroupTotals = { group: string; totals: TotalsData };

/** Statistics of the runs of one partition that match a query. */
export type PartitionStats = {
  totals: TotalsData;
  groups: GroupTotals[];
  feedback: FeedbackTotals[];
  facets: Facet[];
};

/** Limits the groups that are counted. Further groups are ignored, also when they are larger. */
const MAX_COUNTED_GROUPS = 10_000;
const MAX_GROUPS = 1000;
const MAX_FACETS = 50;
const MAX_FACET_VALUES = 1000;
const FACETS = ["name", "run_type", "status"] as const;

export function noStats(): PartitionStats {
  return { totals: new RunTotals([]).toData(), groups: [], feedback: [], facets: [] };
}

/** Totals of runs, with usage as `UsageOnce` counts it. */
class TotalsWithUsageOnce {
  readonly totals: RunTotals;
  readonly #once = new UsageOnce();

  constructor(distributions: readonly Distribution[]) {
    this.totals = new RunTotals(distributions);
  }

  add(row: MatchingRun): void {
    this.totals.add(this.#once.toCounted(row));
  }
}

/** Sums matching runs in one pass. */
export function collectStats(
  reader: RunReader,
  query: RunsQuery,
  group_by: GroupBy | null,
): PartitionStats {
  const all = new TotalsWithUsageOnce(DISTRIBUTIONS);
  const groups = new Map<string, TotalsWithUsageOnce>();
  const facets = new FacetCounts();
  const feedback = new FeedbackCounts(reader.feedback);
  for (const run of readMatching(reader, query, group_by)) {
    all.add(run);
    for (const group of run.groups) addTo(groups, group, run);
    // Charts by group show neither facets nor feedback.
    if (group_by !== null) continue;
    facets.add(run);
    feedback.addRun(run.id);
  }
  return {
    totals: all.totals.toData(),
    groups: largest(groups).map(([group, { totals }]) => ({ group, totals: totals.toData() })),
    feedback: feedback.totals(),
    facets: facets.toFacets(),
  };
}

/** Totals that the catalogue caches. Only roots count as runs. Usage and feedback are those of all runs. */
export type TraceTotals = Pick<PartitionStats, "totals" | "feedback">;

export function collectTraceTotals(reader: RunReader): TraceTotals {
  const totals = new RunTotals(TIMES);
  const feedback = new FeedbackCounts(reader.feedback);
  for (const run of reader.source.live(EVERY_RUN)) {
    if (run.is_root === 1) totals.add({ ...timingOf(run), ...NO_USAGE });
    feedback.addRun(run.id);
  }
  for (const run of reader.usage.counted()) totals.addUsage(run);
  return { totals: totals.toData(), feedback: feedback.totals() };
}

export function noTraceTotals(): TraceTotals {
  return { totals: new RunTotals([]).toData(), feedback: [] };
}

function addTo(groups: Map<string, TotalsWithUsageOnce>, group: string, row: MatchingRun): void {
  let totals = groups.get(group);
  if (totals === undefined) {
    if (groups.size >= MAX_COUNTED_GROUPS) return;
    totals = new TotalsWithUsageOnce(TIMES);
    groups.set(group, totals);
  }
  totals.add(row);
}

function largest(groups: Map<string, TotalsWithUsageOnce>): [string, TotalsWithUsageOnce][] {
  const sorted = [...groups].sort(([, a], [, b]) => b.totals.runs - a.totals.runs);
  return sorted.slice(0, MAX_GROUPS);
}

/** Number of occurrences of the first `MAX_FACET_VALUES` values of each key. */
class FacetCounts {
  readonly #counts = { name: new Map(), run_type: new Map(), status: new Map() } satisfies Record<
    Facet["key"],
    Map<string, number>
  >;

  add(run: RunLabels): void {
    for (const key of FACETS) {
      const counts: Map<string, number> = this.#counts[key];
      const n = counts.get(run[key]);
      if (n !== undefined || counts.size < MAX_FACET_VALUES) counts.set(run[key], (n ?? 0) + 1);
    }
  }

  toFacets(): Facet[] {
    return FACETS.flatMap((key) => {
      const counts: [string, number][] = [...this.#counts[key]];
      const often = counts.sort(([, a], [, b]) => b - a).slice(0, MAX_FACETS);
      return often.map(([value, n]) => ({ key, value, n }));
    });
  }
}
