import { toIso } from "../../shared/times.ts";
import { type FeedbackTotals, toFeedbackStats } from "../aggregates/feedback-totals.ts";
import type { Facet } from "../aggregates/stats.ts";
import type { Distribution, RunTotals } from "../totals.ts";
import type { RunStats } from "./stats-schema.ts";
import type { TraceStats } from "./trace-stats-schema.ts";

const MAX_FACETS = 50;
/** Maximum number of decimal places of an interpolated cost. */
const COST_PLACES = 12;
/** `toFixed` writes larger numbers with an exponent. */
const MAX_FIXED = 1e21;

export function toTraceStats(totals: RunTotals, feedback: FeedbackTotals[]): TraceStats {
  const { runs, max_start_us, tokens } = totals;
  const rate = (n: number) => (runs === 0 ? null : n / runs);
  const seconds = (name: Distribution, q: number) => {
    const micros = totals.quantile(name, q);
    return micros === null ? null : micros / 1_000_000;
  };
  return {
    run_count: runs,
    latency_p50: seconds("latency", 0.5),
    latency_p99: seconds("latency", 0.99),
    first_token_p50: seconds("first_token", 0.5),
    first_token_p99: seconds("first_token", 0.99),
    ...tokens,
    ...totals.costs(),
    error_rate: rate(totals.errors),
    streaming_rate: rate(totals.streamed),
    last_run_start_time: max_start_us === null ? null : toIso(max_start_us),
    feedback_stats: toFeedbackStats(feedback),
  };
}

export function toRunStats(
  totals: RunTotals,
  feedback: FeedbackTotals[],
  facets: Facet[],
): RunStats {
  return {
    ...toTraceStats(totals, feedback),
    median_tokens: totals.quantile("total_tokens", 0.5),
    prompt_tokens_p50: totals.quantile("prompt_tokens", 0.5),
    completion_tokens_p50: totals.quantile("completion_tokens", 0.5),
    tokens_p99: totals.quantile("total_tokens", 0.99),
    prompt_tokens_p99: totals.quantile("prompt_tokens", 0.99),
    completion_tokens_p99: totals.quantile("completion_tokens", 0.99),
    cost_p50: toCost(totals.quantile("total_cost", 0.5)),
    cost_p99: toCost(totals.quantile("total_cost", 0.99)),
    run_facets: toFacets(facets),
  };
}

function toCost(value: number | null): string | null {
  if (value === null) return null;
  if (Math.abs(value) >= MAX_FIXED) return String(BigInt(value));
  return value.toFixed(COST_PLACES).replace(/\.?0+$/, "");
}

function toFacets(facets: Facet[]): RunStats["run_facets"] {
  const counts = new Map<string, Facet>();
  for (const facet of facets) {
    const name = `${facet.key} ${facet.value}`;
    counts.set(name, { ...facet, n: facet.n + (counts.get(name)?.n ?? 0) });
  }
  return [...counts.values()]
    .sort((a, b) => b.n - a.n)
    .slice(0, MAX_FACETS)
    .map(({ key, value, n }) => ({ key, value, query: `eq(${key}, ${JSON.stringify(value)})`, n }));
}
