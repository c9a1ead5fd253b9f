import type { RunSeries } from "../../../../traces/stats/series-schema.ts";
import type { RunStats } from "../../../../traces/stats/stats-schema.ts";
import { formatTick } from "../../../traces/time-range.ts";
import { axisOf } from "../../../ui/chart/axis.ts";
import { formatCost, formatDuration, formatNumber } from "../../../ui/formats.ts";
import { type Chosen, useBrush } from "./use-brush.ts";

type Props = {
  series: RunSeries;
  chosen: Chosen | null;
  onChoose: (chosen: Chosen | null) => void;
};

const WIDTH = 600;
const TICKS = 5;

/** Draws the runs by time. A drag or the arrow keys choose a part. */
export function Histogram({ series, chosen, onChoose }: Props) {
  const start = Date.parse(series.start_time);
  const end = Date.parse(series.end_time);
  const buckets = series.series[0]?.buckets ?? [];
  const axis = axisOf(Math.max(...buckets.map(({ run_count }) => run_count), 1), 2);
  const brush = useBrush({ start, end, step: series.stride_seconds * 1000, chosen, onChoose });
  const width = (series.stride_seconds * 1000 * WIDTH) / (end - start);
  return (
    <div className="chart histogram">
      <div className="y" aria-hidden="true">
        {axis.ticks.map((value) => (
          <span key={value}>{formatNumber(value)}</span>
        ))}
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a group of two handles */}
      <div
        className="plot"
        role="group"
        aria-label={brush.label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys choose a part
        tabIndex={0}
        {...brush.handlers}
      >
        <svg viewBox={`0 0 ${WIDTH} 100`} preserveAspectRatio="none" aria-hidden="true">
          {axis.ticks.map((value) => (
            <line
              key={value}
              className="g"
              x1="0"
              x2={WIDTH}
              y1={100 - (value / axis.max) * 100}
              y2={100 - (value / axis.max) * 100}
            />
          ))}
          {buckets.map((bucket) => (
            <Bars
              key={bucket.start_time}
              x={((Date.parse(bucket.start_time) - start) * WIDTH) / (end - start)}
              width={width}
              bucket={bucket}
              max={axis.max}
            />
          ))}
        </svg>
        {brush.shown && (
          <span className="brush" style={{ left: brush.shown.left, width: brush.shown.width }}>
            <b>{brush.shown.text}</b>
          </span>
        )}
      </div>
      <TimeAxis start={start} end={end} isLive={Date.now() - end < series.stride_seconds * 1000} />
    </div>
  );
}

function TimeAxis({ start, end, isLive }: { start: number; end: number; isLive: boolean }) {
  const ticks = Array.from({ length: TICKS }, (_, n) => start + ((end - start) * n) / TICKS);
  return (
    <div className="x" aria-hidden="true">
      {ticks.map((at) => (
        <span key={at}>{formatTick(at, end - start)}</span>
      ))}
      <span>{isLive ? "now" : formatTick(end, end - start)}</span>
    </div>
  );
}

type Bucket = RunSeries["series"][number]["buckets"][number];
type BarsProps = { x: number; width: number; bucket: Bucket; max: number };

function Bars({ x, width, bucket, max }: BarsProps) {
  const all = (bucket.run_count / max) * 100;
  const failed = (bucket.error_count / max) * 100;
  const inner = Math.max(width * 0.8, 0.5);
  return (
    <>
      <rect x={x} width={inner} y={100 - all} height={all} fill="var(--weave)">
        <title>{`${formatNumber(bucket.run_count)} runs, ${formatNumber(bucket.error_count)} failed`}</title>
      </rect>
      <rect x={x} width={inner} y={100 - failed} height={failed} fill="var(--err-mark)" />
    </>
  );
}

export const TOTALS = [
  "run_count",
  "error_rate",
  "latency_p50",
  "latency_p99",
  "total_cost",
] as const satisfies (keyof RunStats)[];
export type Totals = Pick<RunStats, (typeof TOTALS)[number]>;

/** Shows the figures of the matching runs. */
export function Figures({ totals }: { totals: Totals }) {
  const { run_count, error_rate, latency_p50, latency_p99, total_cost } = totals;
  const error_count = Math.round((error_rate ?? 0) * run_count);
  return (
    <div className="row sm wrap mb-2">
      <span>
        <b className="m">{formatNumber(run_count)}</b>{" "}
        <span className="dim">{run_count === 1 ? "run" : "runs"}</span>
      </span>
      <span>
        <b className={`m ${error_count > 0 ? "err" : ""}`}>{formatNumber(error_count)}</b>{" "}
        <span className="dim">failed</span>
      </span>
      {latency_p50 !== null && (
        <span className="dim">p50 {formatDuration(latency_p50 * 1000)}</span>
      )}
      {latency_p99 !== null && (
        <span className="dim">p99 {formatDuration(latency_p99 * 1000)}</span>
      )}
      {Number(total_cost ?? 0) > 0 && <span className="dim">{formatCost(Number(total_cost))}</span>}
      <span className="push legend hide-m">
        <span className="k-weave">
          <i className="box swatch" />
          <span className="mid">ok</span>
        </span>
        <span className="k-err">
          <i className="box swatch" />
          <span className="mid">failed</span>
        </span>
      </span>
    </div>
  );
}
