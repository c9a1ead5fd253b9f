import type { RunSeries, SeriesBucket } from "../../../traces/stats/series-schema.ts";
import {
  formatCost,
  formatDuration,
  formatNumber,
  formatPercent,
  formatShortNumber,
} from "../../ui/formats.ts";
import type { GroupName } from "./search.ts";

type Figures = Omit<SeriesBucket, "start_time">;
type Line = { label: string; read: (figures: Figures, seconds: number) => number | null };

export type ChartKind = {
  title: string;
  /** Lines of all runs together. */
  lines: (Line & { isDashed?: boolean; colour?: string })[];
  /** The line of a group. */
  grouped: Line;
  format: (value: number) => string;
  /** Whether the lines add up, so that they are stacked. */
  isStacked: boolean;
  /** Whether a bucket without runs has the value 0. Otherwise it is a gap. */
  isZero: boolean;
  /** Shown when no bucket has a value. */
  whenEmpty?: string;
};

const msOf = (seconds: number | null) => (seconds === null ? null : seconds * 1000);
const perSecond: Line = {
  label: "runs",
  read: ({ run_count }, seconds) => run_count / seconds,
};
const p99: Line = { label: "p99", read: ({ latency_p99 }) => msOf(latency_p99) };
const tokenP99: Line = { label: "p99", read: ({ first_token_p99 }) => msOf(first_token_p99) };
const waitP99: Line = { label: "p99", read: ({ queue_wait_p99 }) => msOf(queue_wait_p99) };
const queued: Line = { label: "waiting", read: ({ queue_length }) => queue_length };
const failed: Line = { label: "failed of all runs", read: ({ error_rate }) => error_rate };
const MINUTE_S = 60;
const HOUR_S = 3600;
const cost: Line = {
  label: "cost",
  read: ({ total_cost }, seconds) => (Number(total_cost ?? 0) / seconds) * HOUR_S,
};
const perMinute = (tokens: number, seconds: number) => (tokens / seconds) * MINUTE_S;

export const CHARTS: ChartKind[] = [
  {
    title: "Runs per second",
    lines: [perSecond],
    grouped: perSecond,
    format: formatRate,
    isStacked: true,
    isZero: true,
  },
  {
    title: "Error rate",
    lines: [{ ...failed, colour: "var(--err-mark)" }],
    grouped: failed,
    format: (part) => formatPercent(part),
    isStacked: false,
    isZero: false,
  },
  {
    title: "Latency",
    lines: [
      { label: "p50", read: ({ latency_p50 }) => msOf(latency_p50) },
      { ...p99, isDashed: true },
    ],
    grouped: p99,
    format: formatDuration,
    isStacked: false,
    isZero: false,
  },
  {
    title: "First token",
    lines: [
      { label: "p50", read: ({ first_token_p50 }) => msOf(first_token_p50) },
      { ...tokenP99, isDashed: true },
    ],
    grouped: tokenP99,
    format: formatDuration,
    isStacked: false,
    isZero: false,
    whenEmpty: "No model call of this time streamed its tokens.",
  },
  {
    title: "Tokens per minute",
    lines: [
      { label: "in", read: ({ prompt_tokens }, seconds) => perMinute(prompt_tokens, seconds) },
      {
        label: "out",
        read: ({ completion_tokens }, seconds) => perMinute(completion_tokens, seconds),
      },
    ],
    grouped: {
      label: "tokens",
      read: ({ total_tokens }, seconds) => perMinute(total_tokens, seconds),
    },
    format: (value) => formatShortNumber(Math.round(value)),
    isStacked: true,
    isZero: true,
  },
  {
    title: "Cost per hour",
    lines: [cost],
    grouped: cost,
    format: formatCost,
    isStacked: true,
    isZero: true,
  },
  {
    title: "Runs in the queue",
    lines: [queued],
    grouped: queued,
    format: formatRate,
    isStacked: true,
    isZero: false,
    whenEmpty: "No run of this time came from the queue of a thread.",
  },
  {
    title: "Wait in the queue",
    lines: [
      { label: "p50", read: ({ queue_wait_p50 }) => msOf(queue_wait_p50) },
      { ...waitP99, isDashed: true },
    ],
    grouped: waitP99,
    format: formatDuration,
    isStacked: false,
    isZero: false,
    whenEmpty: "No run of this time came from the queue of a thread.",
  },
];

function formatRate(value: number): string {
  return value > 0 && value < 0.01 ? "under 0.01" : formatNumber(value);
}

export type PlotLine = {
  label: string;
  colour: string;
  isDashed: boolean;
  /** Values by bucket. A `null` is a gap in the line. */
  values: (number | null)[];
  /** The group, `undefined` for all runs and for the rest. */
  group: string | undefined;
};

const COLOURS = ["var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)"];

/**
 * Returns the lines of a chart. Each has an entry for every bucket, also for buckets without runs, which the answer
 * omits.
 */
export function toPlotted(kind: ChartKind, answer: RunSeries): PlotLine[] {
  const isGrouped = answer.series.some(({ group, is_rest }) => group !== null || is_rest);
  return answer.series.flatMap((series, index) => {
    const lines: ChartKind["lines"] = isGrouped ? [kind.grouped] : kind.lines;
    return lines.map((line, n) => ({
      label: isGrouped ? (series.group ?? "others") : line.label,
      colour: line.colour ?? COLOURS[(index + n) % COLOURS.length] ?? "",
      isDashed: line.isDashed === true,
      values: valuesOf(answer, series.buckets, line, kind.isZero),
      group: series.group ?? undefined,
    }));
  });
}

function valuesOf(
  { start_time, end_time, stride_seconds }: RunSeries,
  buckets: SeriesBucket[],
  { read }: Line,
  isZero: boolean,
): (number | null)[] {
  const start = Date.parse(start_time);
  const count = Math.round((Date.parse(end_time) - start) / 1000 / stride_seconds);
  const values: (number | null)[] = new Array(count).fill(isZero ? 0 : null);
  for (const bucket of buckets) {
    const index = Math.round((Date.parse(bucket.start_time) - start) / 1000 / stride_seconds);
    if (index >= 0 && index < count) values[index] = read(bucket, stride_seconds);
  }
  return values;
}

/** Adds to each line the values of those before it. */
export function stack(lines: PlotLine[]): PlotLine[] {
  const sums: number[] = [];
  return lines.map((line) => ({
    ...line,
    values: line.values.map((value, index) => {
      sums[index] = (sums[index] ?? 0) + (value ?? 0);
      return sums[index] ?? 0;
    }),
  }));
}

/** Returns the filter that finds the runs of a group. */
export function filterOf(group: GroupName | undefined, key: string, value: string): string {
  const quoted = JSON.stringify(value);
  if (group === "tag") return `has(tags, ${quoted})`;
  if (group === "name") return `eq(name, ${quoted})`;
  const name = group === "revision" ? "revision_id" : key;
  return `and(eq(metadata_key, ${JSON.stringify(name)}), eq(metadata_value, ${quoted}))`;
}
