import { type PointerEvent, useState } from "react";
import type { TraceTree } from "../../../traces/tree.ts";
import { formatDuration } from "../../../ui/formats.ts";
import { type Scale, ticksOf, toTime } from "../model/scale.ts";
import type { Zoom } from "../model/search.ts";
import { TreeWidth } from "./tree-width.tsx";

type Props = { tree: TraceTree; scale: Scale; label: string; onZoom: (zoom: Zoom) => void };

/** Draws the times of the waterfall. A drag over a part zooms to it. */
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

/** In a zoomed part, ticks after the first are relative to its start: absolute times would be long and look alike. */
function tickText({ from }: Scale, ms: number): string {
  if (ms === 0) return "0";
  return from > 0 && ms > from ? `+${formatDuration(ms - from)}` : formatDuration(ms);
}

/** A shorter drag, as a part of the width, counts as a click. */
const MIN_PART = 0.005;

/** Calls `onEnd` with the two ends of a drag as parts of the width. */
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
      if (ends !== null && Math.abs(to - from) > MIN_PART) {
        onEnd(Math.min(from, to), Math.max(from, to));
      }
    },
    onPointerCancel: () => setEnds(null),
  };
}

function percent(part: number): string {
  return `${part * 100}%`;
}
