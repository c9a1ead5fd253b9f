import { type PointerEvent, useState } from "react";
import type { TraceTree } from "../../../traces/tree.ts";
import { formatDuration } from "../../../ui/formats.ts";
import { type Scale, ticksOf, toTime } from "../model/scale.ts";
import type { Zoom } from "../model/search.ts";
import { TreeWidth } from "./tree-width.tsx";

type Props = { tree: TraceTree; scale: Scale; label: string; onZoom: (zoom: Zoom) => void };

/** Times of the waterfall. A stretch that is drawn over with the pointer gets the whole width. */
export function Axis({ tree, scale, label, onZoom }: Props) {
  const { chosen, ...drag } = useDrag((x0, x1) =>
    onZoom({ from: toTime(scale, x0), to: toTime(scale, x1) }),
  );
  return (
    <div className="tree-row axis">
      <div className="nmc xs dim">{label}</div>
      <div className="wf" {...drag}>
        {ticksOf(scale, tree.total_ms).map(({ ms, x }) => (
          <span key={ms} className="ax" style={{ left: percent(x) }}>
            {tickText(scale, ms)}
          </span>
        ))}
        {scale.gaps.map(({ from, to, x0, x1 }) => (
          <span
            key={from}
            className="gapb"
            style={{ left: percent(x0), width: percent(x1 - x0) }}
            title={`${formatDuration(to - from)} in which nothing ran`}
          >
            {formatDuration(to - from)}
          </span>
        ))}
        {chosen && (
          <span
            className="ax-zoom"
            style={{ left: percent(chosen[0]), width: percent(chosen[1] - chosen[0]) }}
          />
        )}
      </div>
      <TreeWidth />
    </div>
  );
}

/** After the first tick of a zoomed part the times count from it: its own may be long and alike. */
function tickText({ from }: Scale, ms: number): string {
  if (ms === 0) return "0";
  return from > 0 && ms > from ? `+${formatDuration(ms - from)}` : formatDuration(ms);
}

const LEAST_PART = 0.005;

/** Calls `onEnd` with the two ends of a drag as parts of the width. A click is none. */
function useDrag(onEnd: (x0: number, x1: number) => void) {
  const [ends, setEnds] = useState<[number, number] | null>(null);
  const at = (event: PointerEvent<HTMLDivElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - left) / width, 0), 1);
  };
  const chosen = ends === null ? null : ([Math.min(...ends), Math.max(...ends)] as const);
  return {
    chosen,
    onPointerDown: (event: PointerEvent<HTMLDivElement>) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      setEnds([at(event), at(event)]);
    },
    onPointerMove: (event: PointerEvent<HTMLDivElement>) => {
      const here = at(event);
      setEnds((former) => former && [former[0], here]);
    },
    onPointerUp: (event: PointerEvent<HTMLDivElement>) => {
      setEnds(null);
      // The last move may not be drawn yet.
      const [from, to] = [ends?.[0] ?? 0, at(event)];
      if (ends !== null && Math.abs(to - from) > LEAST_PART) {
        onEnd(Math.min(from, to), Math.max(from, to));
      }
    },
    onPointerCancel: () => setEnds(null),
  };
}

function percent(part: number): string {
  return `${part * 100}%`;
}
