import type { Position } from "../rows/rows.ts";
import type { RunSelection, SegmentCount } from "../rows/run-source.ts";
import type { SegmentHead } from "./codec/head.ts";
import { compareTexts } from "./codec/uuids.ts";
import { conditionOf, overlaps, passesWhole } from "./conditions.ts";
import type { RunSegment } from "./segment.ts";
import type { SegmentStore } from "./store.ts";

/**
 * Counts the first runs of an ascending selection without candidates, fewer than `limit`. Opens
 * only the segments in which it has to test each run.
 * @returns `null` when no segment can be counted, or when a later change may have moved a run into the selection or out of it
 */
export function countBySegments(
  store: SegmentStore,
  selection: RunSelection,
  limit: number,
): SegmentCount | null {
  const newest = selection.max_seq ?? Number.POSITIVE_INFINITY;
  if (store.all.some(({ info }) => info.max_changed > newest)) return null;
  const segments = store.all.filter((segment) => overlaps(segment, selection));
  segments.sort((a, b) => a.info.min_us - b.info.min_us);
  const end = endOfFirst(segments, limit);
  const from_us = segments[end]?.info.min_us ?? Number.NEGATIVE_INFINITY;
  if (from_us <= (selection.after?.start_us ?? Number.NEGATIVE_INFINITY)) return null;
  const before = segments.slice(0, end);
  const runs = before.reduce((sum, one) => sum + countBefore(store, one, selection, from_us), 0);
  return { runs, from_us };
}

/**
 * Returns how many of the first segments to count. They have fewer runs than `limit` together. At least the last segment
 * is not counted.
 */
function endOfFirst(segments: RunSegment[], limit: number): number {
  let [end, runs] = [0, 0];
  for (const [n, { live }] of segments.entries()) {
    if (runs >= limit) break;
    end = n;
    runs += live;
  }
  return end;
}

function countBefore(
  store: SegmentStore,
  segment: RunSegment,
  selection: RunSelection,
  from_us: number,
): number {
  const { info, live } = segment;
  if (info.max_us < from_us && passesWhole(segment, selection)) return live;
  const isSelected = conditionOf(store, selection)(segment);
  const isBehind = positionTest(store.head(segment), selection.after);
  const starts = store.head(segment).numbers("start_us");
  let runs = 0;
  for (let n = 0; n < info.runs; n++) {
    if ((starts[n] ?? 0) >= from_us || !segment.isLive(n)) continue;
    if (isSelected(n) && isBehind(n)) runs += 1;
  }
  return runs;
}

/** Tests the ids of runs that start at the time of the position: earlier runs are not selected. */
function positionTest(head: SegmentHead, after: Position | null): (n: number) => boolean {
  const starts = head.numbers("start_us");
  return (n) => {
    if (after === null || starts[n] !== after.start_us) return true;
    return compareTexts(head.id("id", n) ?? "", after.id) > 0;
  };
}
