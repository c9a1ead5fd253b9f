import type { Alert } from "../../control-plane/alerts/alert-schema.ts";
import type { TracesSearch } from "../traces/search.ts";
import { formatDuration, formatNumber } from "../ui/formats.ts";
import type { StatusKind } from "../ui/icons/status-kind.ts";

export type Metric = Alert["metric"];

type MetricTexts = {
  label: string;
  /** The unit in which a threshold is typed. */
  unit: string;
  /** A threshold of the API times this factor is the number that is typed. */
  factor: number;
  format: (value: number) => string;
};

const formatSeconds = (seconds: number) => `${formatNumber(seconds)} s`;
const formatShare = (share: number) => `${formatNumber(share * 100)}%`;

export const METRIC_TEXTS: Record<Metric, MetricTexts> = {
  error_rate: { label: "Error rate", unit: "percent", factor: 100, format: formatShare },
  latency_p95: { label: "Latency, p95", unit: "seconds", factor: 1, format: formatSeconds },
  run_count: { label: "Number of runs", unit: "runs", factor: 1, format: formatNumber },
  feedback_score: { label: "Feedback score", unit: "score", factor: 1, format: formatNumber },
  quota_used: { label: "Used share of a quota", unit: "percent", factor: 100, format: formatShare },
};

export const OPERATOR_TEXTS: Record<Alert["operator"], { label: string; sign: string }> = {
  gte: { label: "is at least", sign: "≥" },
  lte: { label: "is at most", sign: "≤" },
};

const MINUTE_MS = 60_000;

/** Returns the condition of an alert, such as "Error rate ≥ 10% in 5 min". A quota has no window. */
export function conditionOf(alert: Alert): string {
  const { label, format } = METRIC_TEXTS[alert.metric];
  const condition = `${label} ${OPERATOR_TEXTS[alert.operator].sign} ${format(alert.threshold)}`;
  if (alert.metric === "quota_used") return condition;
  return `${condition} in ${formatDuration(alert.window_minutes * MINUTE_MS)}`;
}

export type AlertState = { kind: StatusKind; word: string };

export function stateOf({ enabled, status, problem, evaluated_at }: Alert): AlertState {
  if (status === "firing") return { kind: "failed", word: "Firing" };
  if (!enabled) return { kind: "idle", word: "Paused" };
  if (problem !== null) return { kind: "partial", word: "Not evaluated" };
  if (evaluated_at === null) return { kind: "queued", word: "Not evaluated yet" };
  return { kind: "ok", word: "OK" };
}

/**
 * Returns the search for the runs that an alert is about: those of its current episode, otherwise those of its last
 * window.
 * @returns `null` for an alert without a project, such as one about a quota
 */
export function runsOf(alert: Alert): TracesSearch | null {
  const { session_id, is_root, window_minutes, started_at, evaluated_at } = alert;
  if (session_id === null) return null;
  const until = evaluated_at === null ? Date.now() : Date.parse(evaluated_at);
  const since = started_at === null ? until : Date.parse(started_at);
  return {
    project: session_id,
    q: filterOf(alert),
    from: new Date(since - window_minutes * MINUTE_MS).toISOString(),
    to: new Date(until).toISOString(),
    range: "1h",
    ...(!is_root && { runs: "all" as const }),
  };
}

/**
 * Returns the filter of an alert. Adds a condition for the failed runs of an error rate, and for the runs with the
 * feedback key.
 */
function filterOf({ metric, filter, feedback_key }: Alert): string | undefined {
  const conditions = filter === null ? [] : [filter];
  if (metric === "error_rate") conditions.push("eq(error, true)");
  if (feedback_key !== null) conditions.push(`eq(feedback_key, ${JSON.stringify(feedback_key)})`);
  return conditions.length > 1 ? `and(${conditions.join(", ")})` : conditions[0];
}
