import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { type CSSProperties, useMemo, useState } from "react";
import type { RunSeries } from "../../../traces/stats/series-schema.ts";
import { useWorkspaceId } from "../../api/hooks.ts";
import { pathTo } from "../../state/path.ts";
import { formatTick } from "../../traces/time-range.ts";
import { LineChart } from "../../ui/chart/line-chart.tsx";
import { cutText } from "../../ui/formats.ts";
import { Empty } from "../../ui/panel.tsx";
import { CHARTS, type ChartKind, filterOf, type PlotLine, stack, toPlotted } from "./charts.ts";
import { FiguresTable } from "./figures-table.tsx";
import { RevisionLegend, useRevisionMarks } from "./revision-legend.tsx";
import type { RevisionMark } from "./revision-marks.ts";
import type { TimePart } from "./search.ts";

const route = getRouteApi("/w/$workspace/monitor");
const TICKS = 3;
/** An end this near to the present is labelled `now`: a range that ends now is in whole minutes. */
const NOW_MS = 2 * 60_000;

type Props = { answer: RunSeries; project_id: string; onZoom: (part: TimePart) => void };

/** Draws the charts, with one cursor over all, or the table of their numbers. */
export function Charts({ answer, project_id, onZoom }: Props) {
  const [cursor, setCursor] = useState<number | null>(null);
  const [isTable, setTable] = useState(false);
  const open = useOpenRuns(answer, project_id);
  const zoom = (first: number, last: number) =>
    onZoom({ from: startOf(answer, first), to: startOf(answer, last + 1) });
  const { marks, error } = useRevisionMarks(project_id, answer);
  const hasRuns = answer.series.some(({ totals }) => totals.run_count > 0);
  if (!hasRuns) {
    return <Empty title="No runs in this time">Choose a longer time, or another project.</Empty>;
  }
  return (
    <>
      {isTable ? (
        <FiguresTable answer={answer} />
      ) : (
        <div className="g3 monitor">
          {CHARTS.map((kind) => (
            <Chart
              key={kind.title}
              kind={kind}
              answer={answer}
              marks={marks}
              cursor={cursor}
              onCursor={setCursor}
              onOpen={open}
              onZoom={zoom}
            />
          ))}
        </div>
      )}
      <RevisionLegend marks={marks} error={error} />
      <button type="button" className="btn ghost sm mt-3" onClick={() => setTable(!isTable)}>
        {isTable ? "Show as charts" : "Show as table"}
      </button>
    </>
  );
}

/** @returns a function that opens the runs of a bucket and a group */
function useOpenRuns(answer: RunSeries, project: string) {
  const { group, key = "", runs, range } = route.useSearch();
  const navigate = useNavigate();
  const workspace = useWorkspaceId();
  return (bucket: number, line: PlotLine | undefined) => {
    void navigate({
      to: pathTo(workspace, "/traces"),
      search: {
        project,
        range,
        runs,
        from: startOf(answer, bucket),
        to: startOf(answer, bucket + 1),
        q: line?.group === undefined ? undefined : filterOf(group, key, line.group),
      },
    });
  };
}

function startOf({ start_time, stride_seconds }: RunSeries, bucket: number): string {
  return new Date(Date.parse(start_time) + bucket * stride_seconds * 1000).toISOString();
}

type ChartProps = {
  kind: ChartKind;
  answer: RunSeries;
  marks: RevisionMark[];
  cursor: number | null;
  onCursor: (bucket: number | null) => void;
  onOpen: (bucket: number, line: PlotLine | undefined) => void;
  onZoom: (first: number, last: number) => void;
};

function Chart({ kind, answer, marks, cursor, onCursor, onOpen, onZoom }: ChartProps) {
  const plotted = useMemo(() => toPlotted(kind, answer), [kind, answer]);
  const lines = useMemo(() => (kind.isStacked ? stack(plotted) : plotted), [kind, plotted]);
  const start = Date.parse(answer.start_time);
  const end = Date.parse(answer.end_time);
  const ticks = Array.from({ length: TICKS }, (_, n) => start + ((end - start) * n) / TICKS);
  const stride_ms = answer.stride_seconds * 1000;
  const isNow = (ms: number) => ms > Date.now() - NOW_MS;
  const count = plotted[0]?.values.length ?? 0;
  const at = cursor ?? count - 1;
  const time = formatTick(start + at * stride_ms, end - start);
  const isEmpty = plotted.every(({ values: all }) => all.every((value) => value === null));
  const values = plotted.map(({ label, values: all }) => {
    const value = all[at];
    return `${label} ${value == null ? "none" : kind.format(value)}`;
  });
  return (
    <section className="panel mp" aria-label={kind.title}>
      <header>
        <h2>{kind.title}</h2>
        <span className="push m cut" title={values.join(", ")}>
          <small>{cursor === null ? "last" : time}</small> {headValue(kind, plotted, at)}
        </span>
      </header>
      <div className="in-p">
        <LineChart
          label={`${kind.title} at ${time}: ${values.join(", ")}. Arrow keys move, Enter opens the runs`}
          lines={lines}
          isFilled={kind.isStacked}
          format={kind.format}
          ticks={[...ticks, end].map((ms) => (isNow(ms) ? "now" : formatTick(ms, end - start)))}
          cursor={cursor}
          marks={marks.map(({ id, name, at: since }) => ({
            id,
            part: (Date.parse(since) - start) / (end - start),
            title: `Revision ${name} began to serve`,
          }))}
          onCursor={onCursor}
          onOpen={(bucket, line) => onOpen(bucket, plotted[line])}
          onZoom={onZoom}
        />
        {isEmpty && kind.whenEmpty && <p className="dim sm">{kind.whenEmpty}</p>}
        <div className="legend" hidden={isEmpty}>
          {plotted.map(({ label, colour, isDashed }) => (
            <span key={label} title={label}>
              <i
                className={isDashed ? "dash" : kind.isStacked ? "box" : ""}
                style={{ "--c": colour } as CSSProperties}
              />
              <bdi className="cut">{cutText(label, 100)}</bdi>
            </span>
          ))}
        </div>
      </div>
    </section>
  );
}

/** Returns the number in the head of a chart: the sum of lines that add up, else the largest value. */
function headValue(kind: ChartKind, plotted: PlotLine[], at: number): string {
  const values = plotted.flatMap(({ values: all }) => all[at] ?? []);
  if (values.length === 0) return "none";
  const value = kind.isStacked ? values.reduce((sum, one) => sum + one, 0) : Math.max(...values);
  return kind.format(value);
}
