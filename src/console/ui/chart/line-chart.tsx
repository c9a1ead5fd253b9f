import { type KeyboardEvent, type MouseEvent, useState } from "react";
import { type Axis, axisOf } from "./axis.ts";

export type ChartLine = {
  label: string;
  colour: string;
  isDashed: boolean;
  /** Values by bucket. A `null` is a gap in the line. */
  values: (number | null)[];
};

type Props = {
  /** Describes the lines for screen readers. */
  label: string;
  lines: ChartLine[];
  /** Whether each line is filled down to the one below. The values of such lines are stacked already. */
  isFilled: boolean;
  format: (value: number) => string;
  ticks: string[];
  /** The bucket under the pointer of any chart of the page. */
  cursor: number | null;
  /** Points in time, as parts of the width. */
  marks?: { id: string; part: number; title: string }[];
  onCursor: (bucket: number | null) => void;
  onOpen: (bucket: number, line: number) => void;
  /** Called with the first and the last bucket of a drag. */
  onZoom: (first: number, last: number) => void;
};

/** Width of the drawing in its own units, which are stretched to that of the page. */
const WIDTH = 600;
/** Parts of the vertical axis. */
const PARTS = 2;

/** Lines over buckets of time. A click or Enter opens the runs of a point; a drag chooses a part of the time. */
export function LineChart(props: Props) {
  const { lines, format, ticks } = props;
  const largest = Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const axis = axisOf(largest, PARTS);
  return (
    <div className="chart">
      <div className="y" aria-hidden="true">
        {axis.ticks.map((value) => (
          <span key={value}>{value === 0 ? "0" : format(value)}</span>
        ))}
      </div>
      <Plot {...props} axis={axis} />
      <div className="x" aria-hidden="true">
        {ticks.map((tick, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two ticks may have the same text
          <span key={index}>{tick}</span>
        ))}
      </div>
    </div>
  );
}

function Plot({ axis, ...props }: Props & { axis: Axis }) {
  const { label, lines, isFilled, cursor, marks = [], onCursor } = props;
  const count = lines[0]?.values.length ?? 0;
  const xOf = (bucket: number) => ((bucket + 0.5) * WIDTH) / Math.max(count, 1);
  const { dragged, ...pointer } = usePointer(props, axis, count);
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0;
    const at = cursor ?? count - 1;
    if (by !== 0) onCursor(Math.min(Math.max(at + by, 0), count - 1));
    if (event.key === "Enter") props.onOpen(at, 0);
    if (event.key === "Escape") onCursor(null);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: an image that takes keys is a group
    <div
      className="plot"
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move the cursor
      tabIndex={0}
      onKeyDown={onKey}
      {...pointer}
    >
      <Lines lines={lines} isFilled={isFilled} axis={axis} xOf={xOf} />
      {marks.map(({ id, part, title }) => (
        <i key={id} className="diamond at" title={title} style={{ left: `${part * 100}%` }} />
      ))}
      {dragged !== null && cursor !== null && (
        <span className="part" style={partStyle(dragged, cursor, count)} />
      )}
      {cursor !== null && cursor < count && (
        <span className="hair" style={{ left: `${(xOf(cursor) / WIDTH) * 100}%` }} />
      )}
    </div>
  );
}

/** Returns the pointer handlers of a plot: a click opens a point, and a drag over several buckets chooses them. */
function usePointer({ lines, onCursor, onOpen, onZoom }: Props, axis: Axis, count: number) {
  const [dragged, setDragged] = useState<number | null>(null);
  const bucketAt = ({ clientX, currentTarget }: MouseEvent<HTMLElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.min(Math.max(Math.floor(((clientX - left) / width) * count), 0), count - 1);
  };
  return {
    dragged,
    onPointerDown: (event: MouseEvent<HTMLElement>) => setDragged(bucketAt(event)),
    onPointerMove: (event: MouseEvent<HTMLElement>) => onCursor(bucketAt(event)),
    onPointerLeave: () => {
      onCursor(null);
      setDragged(null);
    },
    onClick: (event: MouseEvent<HTMLElement>) => {
      const bucket = bucketAt(event);
      const first = dragged ?? bucket;
      setDragged(null);
      if (first !== bucket) onZoom(Math.min(first, bucket), Math.max(first, bucket));
      else onOpen(bucket, nearest(event, lines, axis.max, bucket));
    },
  };
}

function partStyle(one: number, other: number, count: number) {
  const [first, last] = [Math.min(one, other), Math.max(one, other)];
  return { left: `${(first / count) * 100}%`, width: `${((last + 1 - first) / count) * 100}%` };
}

/** Returns the position of the line that is nearest to the pointer. */
function nearest(
  event: { clientY: number; currentTarget: HTMLElement },
  lines: ChartLine[],
  max: number,
  bucket: number,
): number {
  const { bottom, height } = event.currentTarget.getBoundingClientRect();
  const value = ((bottom - event.clientY) / height) * max;
  const distances = lines.map(({ values }) => Math.abs((values[bucket] ?? 0) - value));
  return Math.max(distances.indexOf(Math.min(...distances)), 0);
}

type LinesProps = Pick<Props, "lines" | "isFilled"> & {
  axis: Axis;
  xOf: (bucket: number) => number;
};

function Lines({ lines, isFilled, axis, xOf }: LinesProps) {
  const yOf = (value: number) => 100 - (value / axis.max) * 100;
  return (
    <svg viewBox={`0 0 ${WIDTH} 100`} preserveAspectRatio="none" aria-hidden="true">
      {axis.ticks.map((value) => (
        <line key={value} className="g" x1="0" x2={WIDTH} y1={yOf(value)} y2={yOf(value)} />
      ))}
      {lines.map((line, index) => (
        <Drawn
          key={line.label}
          line={line}
          below={isFilled ? (lines[index - 1] ?? null) : null}
          isFilled={isFilled}
          xOf={xOf}
          yOf={yOf}
        />
      ))}
    </svg>
  );
}

type DrawnProps = {
  line: ChartLine;
  below: ChartLine | null;
  isFilled: boolean;
  xOf: (bucket: number) => number;
  yOf: (value: number) => number;
};

function Drawn({ line, below, isFilled, xOf, yOf }: DrawnProps) {
  const points = line.values.map((value, index) =>
    value === null ? null : [xOf(index), yOf(value)],
  );
  const path = pathOf(points);
  const base = line.values
    .map((_, index) => `${xOf(index).toFixed(1)} ${yOf(below?.values[index] ?? 0).toFixed(2)}`)
    .reverse();
  return (
    <>
      {isFilled && path !== "" && (
        <path d={`${path}L${base.join("L")}Z`} fill={line.colour} opacity="0.5" />
      )}
      <path className={`l ${line.isDashed ? "dash" : ""}`} stroke={line.colour} d={path} />
    </>
  );
}

/**
 * Returns the path of a line. A point between two gaps is drawn as a short line, because a point alone is invisible.
 */
function pathOf(points: (number[] | null)[]): string {
  return points
    .map((point, index) => {
      if (point === null) return "";
      const [x = 0, y = 0] = point;
      const isAlone = points[index - 1] == null && points[index + 1] == null;
      const start = points[index - 1] == null ? "M" : "L";
      const here = `${x.toFixed(1)} ${y.toFixed(2)}`;
      return isAlone ? `M${(x - 2).toFixed(1)} ${y.toFixed(2)}h4` : `${start}${here}`;
    })
    .join("");
}
