import type { TraceTree } from "../../../traces/tree.ts";
import type { TraceSearch, Zoom } from "./search.ts";

/** A stretch of time in milliseconds since the start of the trace, drawn from `x0` to `x1` of the width, 0 to 1. */
export type Segment = { from: number; to: number; x0: number; x1: number; isGap: boolean };

export type Scale = {
  segments: Segment[];
  gaps: Segment[];
  /** The stretch of time that is drawn, in milliseconds since the start of the trace. */
  from: number;
  to: number;
};

// A gap is folded when it is longer than both this share of the trace and this time.
const LEAST_GAP = 0.1;
const LEAST_GAP_MS = 1000;
/** Part of the width that a folded gap has. */
const GAP_WIDTH = 0.07;

type Interval = { from: number; to: number };

/** Returns the long times in which no innermost span ran: the trace waited for something else. */
export function findGaps({ spans, size, start, end, total_ms }: TraceTree): Interval[] {
  const work = spans.flatMap((_, index) =>
    size[index] === 1 ? [{ from: start[index] ?? 0, to: end[index] ?? 0 }] : [],
  );
  const least = Math.max(total_ms * LEAST_GAP, LEAST_GAP_MS);
  const gaps: Interval[] = [];
  let until = 0;
  for (const { from, to } of work.sort((a, b) => a.from - b.from)) {
    if (from - until > least) gaps.push({ from: until, to: from });
    until = Math.max(until, to);
  }
  if (total_ms - until > least) gaps.push({ from: until, to: total_ms });
  return work.length === 0 ? [] : gaps;
}

/** @returns `null` for the whole trace */
export function zoomOf({ from_ms, to_ms }: TraceSearch): Zoom | null {
  if (from_ms === undefined || to_ms === undefined || from_ms >= to_ms) return null;
  return { from: from_ms, to: to_ms };
}

/**
 * Folds each gap to the same narrow width. The other times share the rest of the width.
 * @param zoom the only time that is drawn, `null` for the whole trace
 */
export function scaleOf(tree: TraceTree, isFolded: boolean, zoom: Zoom | null = null): Scale {
  const { total_ms } = tree;
  const gaps = isFolded ? findGaps(tree) : [];
  const folded = gaps.reduce((sum, { from, to }) => sum + to - from, 0);
  const perMs = (1 - gaps.length * GAP_WIDTH) / Math.max(total_ms - folded, Number.EPSILON);
  const segments: Segment[] = [];
  let at = 0;
  let x = 0;
  const add = (to: number, width: number, isGap: boolean) => {
    if (to > at) segments.push({ from: at, to, x0: x, x1: x + width, isGap });
    at = to;
    x += width;
  };
  for (const gap of gaps) {
    add(gap.from, (gap.from - at) * perMs, false);
    add(gap.to, GAP_WIDTH, true);
  }
  add(total_ms, (total_ms - at) * perMs, false);
  const drawn = zoom === null ? segments : within(segments, zoom);
  return {
    segments: drawn,
    gaps: drawn.filter(({ isGap }) => isGap),
    from: drawn[0]?.from ?? 0,
    to: drawn.at(-1)?.to ?? total_ms,
  };
}

/** Cuts the segments to a stretch of time, and widens it to the whole width. */
function within(segments: Segment[], { from, to }: Zoom): Segment[] {
  const cut = segments
    .filter((segment) => segment.to > from && segment.from < to)
    .map((segment) => {
      const ends = { from: Math.max(segment.from, from), to: Math.min(segment.to, to) };
      return { ...segment, ...ends, x0: xIn(segment, ends.from), x1: xIn(segment, ends.to) };
    });
  const [left, right] = [cut[0]?.x0 ?? 0, cut.at(-1)?.x1 ?? 1];
  const wide = (x: number) => (x - left) / (right - left);
  return cut.length === 0
    ? segments
    : cut.map((each) => ({ ...each, x0: wide(each.x0), x1: wide(each.x1) }));
}

/** @returns a part of the width, 0 to 1 */
export function toX({ segments }: Scale, ms: number): number {
  const segment = segments.find(({ to }) => ms <= to) ?? segments.at(-1);
  return segment === undefined ? 0 : Math.min(Math.max(xIn(segment, ms), 0), 1);
}

function xIn({ from, to, x0, x1 }: Segment, ms: number): number {
  return to > from ? x0 + ((ms - from) / (to - from)) * (x1 - x0) : x0;
}

/** Returns the time at a part of the width, 0 to 1. */
export function toTime({ segments, to }: Scale, x: number): number {
  const segment = segments.find(({ x1 }) => x <= x1);
  if (segment === undefined) return to;
  const { x0, x1 } = segment;
  return segment.from + (Math.max(x - x0, 0) / (x1 - x0)) * (segment.to - segment.from);
}

/** Distances of ticks in seconds. */
const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 86_400];
const MAX_TICKS = 5;
/** Smallest distance of two ticks, as a part of the width. */
const LEAST_DISTANCE = 0.09;

/** Returns the ticks: times outside the gaps, at round distances from the first, far enough apart to be read. */
export function ticksOf(scale: Scale, total_ms: number): { ms: number; x: number }[] {
  const work = scale.segments.filter(({ isGap }) => !isGap);
  const length = work.reduce((sum, { from, to }) => sum + to - from, 0);
  const step = stepOf(length / MAX_TICKS);
  const ticks: { ms: number; x: number }[] = [];
  for (const { from, to } of work) {
    const first = scale.from + Math.ceil((from - scale.from) / step) * step;
    for (let ms = first; ms < Math.min(to, total_ms); ms += step) {
      const x = toX(scale, ms);
      const last = ticks.at(-1)?.x ?? Number.NEGATIVE_INFINITY;
      if (x - last >= LEAST_DISTANCE && x < 1 - LEAST_DISTANCE / 2) ticks.push({ ms, x });
    }
  }
  return ticks;
}

/** Returns the smallest round distance, in milliseconds, that is at least `least`. */
function stepOf(least: number): number {
  if (least < 500) {
    const power = 10 ** Math.floor(Math.log10(Math.max(least, 0.001)));
    return ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10) * power;
  }
  const fixed = STEPS_S.find((seconds) => seconds * 1000 >= least);
  return fixed === undefined ? Math.ceil(least / 86_400_000) * 86_400_000 : fixed * 1000;
}
