import type { TraceTree } from "./tree.ts";

/** A stretch of time, drawn between two parts of the width, 0 to 1. */
export type Segment = { from: number; to: number; x0: number; x1: number; isGap: boolean };

export type Scale = { segments: Segment[]; gaps: Segment[] };

/** Part of the whole from which an idle gap is folded, and the width it then has. */
const LEAST_GAP = 0.1;
const GAP_WIDTH = 0.07;

type Interval = { from: number; to: number };

/** Times when no innermost span ran, which is where a trace waited. */
export function findGaps({ spans, size, start, end, total_ms }: TraceTree): Interval[] {
  const work = spans.flatMap((_, index) =>
    size[index] === 1 ? [{ from: start[index] ?? 0, to: end[index] ?? 0 }] : [],
  );
  const gaps: Interval[] = [];
  let until = 0;
  for (const { from, to } of work.sort((a, b) => a.from - b.from)) {
    if (from - until > total_ms * LEAST_GAP) gaps.push({ from: until, to: from });
    until = Math.max(until, to);
  }
  if (total_ms - until > total_ms * LEAST_GAP) gaps.push({ from: until, to: total_ms });
  return work.length === 0 ? [] : gaps;
}

/** Folds each gap to the same narrow width; the rest of the time shares the rest of the width. */
export function scaleOf(tree: TraceTree, isFolded: boolean): Scale {
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
  return { segments, gaps: segments.filter(({ isGap }) => isGap) };
}

/** @returns a part of the width, 0 to 1 */
export function toX({ segments }: Scale, ms: number): number {
  const segment = segments.find(({ to }) => ms <= to) ?? segments.at(-1);
  if (segment === undefined) return 0;
  const { from, to, x0, x1 } = segment;
  const part = to > from ? (ms - from) / (to - from) : 0;
  return Math.min(Math.max(x0 + part * (x1 - x0), 0), 1);
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 86_400];
const MAX_TICKS = 5;
const LEAST_DISTANCE = 0.09;

/** Round times outside of the gaps, far enough apart to be read. */
export function ticksOf(scale: Scale, total_ms: number): { ms: number; x: number }[] {
  const work = scale.segments.filter(({ isGap }) => !isGap);
  const length = work.reduce((sum, { from, to }) => sum + to - from, 0);
  const step = stepOf(length / MAX_TICKS);
  const ticks: { ms: number; x: number }[] = [];
  for (const { from, to } of work) {
    for (let ms = Math.ceil(from / step) * step; ms < Math.min(to, total_ms); ms += step) {
      const x = toX(scale, ms);
      const last = ticks.at(-1)?.x ?? Number.NEGATIVE_INFINITY;
      if (x - last >= LEAST_DISTANCE && x < 1 - LEAST_DISTANCE / 2) ticks.push({ ms, x });
    }
  }
  return ticks;
}

/** At least `least`, so that the ticks stay few at any length. */
function stepOf(least: number): number {
  if (least < 500) {
    const power = 10 ** Math.floor(Math.log10(Math.max(least, 0.001)));
    return ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10) * power;
  }
  const fixed = STEPS.find((seconds) => seconds * 1000 >= least);
  return fixed === undefined ? Math.ceil(least / 86_400_000) * 86_400_000 : fixed * 1000;
}
