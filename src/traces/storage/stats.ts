import type { FeedbackTotals } from "../feedback-totals.ts";
import { matchRuns, type RunsQuery } from "../reads/query.ts";
import { isCounted } from "../rollup/usage-sql.ts";
import {
  type CountedRun,
  DISTRIBUTIONS,
  type Distribution,
  RunTotals,
  TIMES,
  TIMING_COLUMNS,
  type TotalsData,
  USAGE_COLUMNS,
} from "../totals.ts";
import type { Usage } from "../usage.ts";
import {
  type GroupBy,
  groupsOf,
  type Match,
  type MatchingRun,
  type Named,
  readMatching,
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

const MAX_GROUPS = 1000;
const MAX_FEEDBACK_KEYS = 200;
const MAX_FEEDBACK_VALUES = 1000;
const MAX_FACETS = 50;
const MAX_FACET_VALUES = 1000;
const FACETS = ["name", "run_type", "status"] as const;

export function noStats(): PartitionStats {
  return { totals: new RunTotals([]).toData(), groups: [], feedback: [], facets: [] };
}

/** Reads matching runs once, without their payloads. */
export function collectStats(
  sql: SqlStorage,
  query: RunsQuery,
  group_by: GroupBy | null,
): PartitionStats {
  const match = matchRuns(sql, query);
  const all = new OnceTotals(DISTRIBUTIONS);
  const groups = new Map<string, OnceTotals>();
  const facets = new FacetCounts();
  for (const row of readMatching(sql, match, group_by)) {
    all.add(row);
    if (group_by === null) facets.add(row);
    for (const group of groupsOf(row.groups)) addTo(groups, group, row);
  }
  return {
    totals: all.totals.toData(),
    groups: [...groups].map(([group, { totals }]) => ({ group, totals: totals.toData() })),
    feedback: group_by === null ? feedbackTotals(sql, match) : [],
    facets: facets.toFacets(),
  };
}

/** Totals that the catalogue caches: traces by their roots, feedback on any run. */
export type TraceTotals = Pick<PartitionStats, "totals" | "feedback">;

export function collectTraceTotals(sql: SqlStorage): TraceTotals {
  const totals = new RunTotals(TIMES);
  const nothing = USAGE_COLUMNS.map((name) => `NULL AS ${name}`);
  const roots = `SELECT ${[...TIMING_COLUMNS, ...nothing].join()} FROM runs WHERE is_root = 1`;
  for (const run of sql.exec<CountedRun>(roots)) totals.add(run);
  const used = `SELECT ${USAGE_COLUMNS.join()} FROM runs r WHERE ${isCounted("r")}`;
  for (const run of sql.exec<Usage>(used)) totals.addUsage(run);
  return { totals: totals.toData(), feedback: feedbackTotals(sql, { text: "1", params: [] }) };
}

export function noTraceTotals(): TraceTotals {
  return { totals: new RunTotals([]).toData(), feedback: [] };
}

class OnceTotals {
  readonly totals: RunTotals;
  readonly #once = new UsageOnce();

  constructor(distributions: readonly Distribution[]) {
    this.totals = new RunTotals(distributions);
  }

  add(row: MatchingRun): void {
    this.totals.add(this.#once.take(row));
  }
}

function addTo(groups: Map<string, OnceTotals>, group: string, row: MatchingRun): void {
  let totals = groups.get(group);
  if (totals === undefined) {
    if (groups.size >= MAX_GROUPS) return;
    totals = new OnceTotals(TIMES);
    groups.set(group, totals);
  }
  totals.add(row);
}

function feedbackTotals(sql: SqlStorage, { text, params }: Match): FeedbackTotals[] {
  if (sql.exec("SELECT 1 FROM feedback LIMIT 1").toArray().length === 0) return [];
  const matching = `run_id IN (SELECT r.id FROM runs r WHERE ${text})`;
  const values = sql
    .exec<{ key: string; value: string; n: number }>(
      `SELECT key, value, count(*) AS n FROM feedback WHERE value IS NOT NULL AND ${matching}
       GROUP BY key, value ORDER BY n DESC LIMIT ${MAX_FEEDBACK_VALUES}`,
      ...params,
    )
    .toArray();
  return sql
    .exec<{ key: string; n: number; scores: number; sum: number }>(
      `SELECT key, count(*) AS n, count(score) AS scores, total(score) AS sum FROM feedback
       WHERE ${matching} GROUP BY key LIMIT ${MAX_FEEDBACK_KEYS}`,
      ...params,
    )
    .toArray()
    .map((one) => {
      const counts = values.filter(({ key }) => key === one.key);
      return { ...one, values: Object.fromEntries(counts.map(({ value, n }) => [value, n])) };
    });
}

/** Number of occurrences of each value, limited to the first values. */
class FacetCounts {
  readonly #counts = { name: new Map(), run_type: new Map(), status: new Map() } satisfies Record<
    Facet["key"],
    Map<string, number>
  >;

  add(run: Named): void {
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
