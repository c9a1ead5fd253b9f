import type { Context } from "../../shared/context.ts";
import { toFeedbackStats } from "../aggregates/feedback-totals.ts";
import { toPlan } from "../query/query-plan.ts";
import { countRuns } from "./stats-service.ts";

/** Runs of a project that started in a range of time and match a filter. */
export type MonitoredRuns = {
  session_id: string;
  filter: string | null;
  is_root: boolean;
  from: Date;
  to: Date;
};

/** `error_rate` is 0 to 1, `latency_p95` is in seconds. They are `null` when no run has a value. */
export type MonitoredFigures = {
  run_count: number;
  error_rate: number | null;
  latency_p95: number | null;
  /** Average scores by key, `null` without scores, or when a double cannot hold their sum. */
  feedback: Map<string, number | null>;
};

/** @throws AppError 422 when the filter is invalid */
export function assertRunFilter(filter: string): void {
  toPlan({ filter, limit: 1 });
}

/** Reads for a job: checks neither the permissions nor the rate limits of a caller. */
export async function getMonitoredFigures(
  ctx: Context,
  { session_id, filter, is_root, from, to }: MonitoredRuns,
): Promise<MonitoredFigures> {
  const range = { start_time: from.getTime() * 1000, end_time: to.getTime() * 1000 };
  // Without the restriction the answer has the runs of all levels.
  const position = is_root ? { is_root } : {};
  const input = { session: [session_id], filter, ...range, ...position };
  const { totals, feedback } = await countRuns(ctx, input, null);
  const latency_us = totals.quantile("latency", 0.95);
  return {
    run_count: totals.runs,
    error_rate: totals.runs === 0 ? null : totals.errors / totals.runs,
    latency_p95: latency_us === null ? null : latency_us / 1_000_000,
    feedback: new Map(
      Object.entries(toFeedbackStats(feedback)).map(([key, { avg }]) => [key, avg]),
    ),
  };
}
