import type { RunSeries, SeriesBucket } from "../../traces/stats/series-schema.ts";
import type { WeaveCell } from "../ui/chart/weave-cell.ts";
import { formatCount, formatPercent } from "../ui/formats.ts";

/** Runs of a deployment in the last day. */
export type Activity = {
  runs: number;
  errors: number;
  /** Milliseconds within which 99 of 100 runs ended, `null` without runs. */
  p99_ms: number | null;
  cells: WeaveCell[];
  /** Start of the newest half hour in which a run failed. */
  failed_at: string | null;
};

export const CELL_MS = 30 * 60_000;
export const CELLS = 48;
/** Share of failed runs above which a half hour is marked. */
const MANY_FAILED = 0.02;
/** Share of the full height, so that a half hour with one run is visible. */
const MIN_HEIGHT = 0.2;
const IDLE = { run_count: 0, error_count: 0, latency_p99: null };

/** @returns `null` for a deployment whose runs may be in the rest of the series: its numbers are unknown */
export function activityOf({ series, start_time }: RunSeries, id: string): Activity | null {
  const found = series.find(({ group, is_rest }) => group === id && !is_rest);
  if (found === undefined && series.some(({ is_rest }) => is_rest)) return null;
  const { run_count, error_count, latency_p99 } = found?.totals ?? IDLE;
  const buckets = found?.buckets ?? [];
  const most = Math.max(...buckets.map((bucket) => bucket.run_count), 1);
  const byStart = new Map(buckets.map((bucket) => [Date.parse(bucket.start_time), bucket]));
  const cells = Array.from({ length: CELLS }, (_, n) => {
    const key = Date.parse(start_time) + n * CELL_MS;
    return toCell(key, byStart.get(key), most);
  });
  const failed_at = buckets.findLast((bucket) => bucket.error_count > 0)?.start_time ?? null;
  const p99_ms = latency_p99 === null ? null : latency_p99 * 1000;
  return { runs: run_count, errors: error_count, p99_ms, cells, failed_at };
}

function toCell(key: number, bucket: SeriesBucket | undefined, most: number): WeaveCell {
  if (bucket === undefined || bucket.run_count === 0) return { key, kind: "none" };
  if (bucket.error_count / bucket.run_count > MANY_FAILED) return { key, kind: "failed" };
  const height = MIN_HEIGHT + (1 - MIN_HEIGHT) * (bucket.run_count / most);
  return { key, kind: "ok", height };
}

/** Describes the strip in words. */
export function activityText({ runs, errors, cells }: Activity): string {
  if (runs === 0) return "No runs in the last 24 hours";
  const failed = cells.filter(({ kind }) => kind === "failed").length;
  const share = errors === 0 ? "no errors" : `${formatPercent(errors / runs)} errors`;
  const marked = failed === 0 ? "" : `, ${formatCount(failed, "half hour")} above 2% errors`;
  return `${formatCount(runs, "run")} in the last 24 hours, ${share}${marked}`;
}
