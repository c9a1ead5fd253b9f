import { MAX_CHARS, MAX_SEGMENT_RUNS, RUN_CHARS } from "./codec/encode.ts";
import type { RunSegment } from "./segment.ts";

/** Share of dead versions that segments may keep. A rewrite copies at most three live versions for each dead one. */
const MAX_DEAD_SHARE = 1 / 4;
/** Fewer dead bytes stay: rewriting their segments costs as much as their storage in weeks. */
const MIN_DEAD_BYTES = 64 * 1024;
/** Bodies of an old partition below the first size are merged, up to the second one. */
const SMALL_BODY_BYTES = 256 * 1024;
const MAX_MERGED_BYTES = 768 * 1024;

export type SizedSegment = { segment: RunSegment; bytes: number };

/**
 * Returns the first adjacent segments, two or more, with small bodies that fit one segment together. None when there
 * are none.
 */
export function groupOfSmallBodies(segments: SizedSegment[]): RunSegment[] {
  const groups: SizedSegment[][] = [[]];
  for (const one of segments) {
    const group = groups.at(-1) ?? [];
    if (fitsSegment([...group, one])) group.push(one);
    else groups.push(one.bytes < SMALL_BODY_BYTES ? [one] : []);
  }
  const group = groups.find(({ length }) => length > 1) ?? [];
  return group.map(({ segment }) => segment);
}

function fitsSegment(group: SizedSegment[]): boolean {
  const [bytes, runs] = [group.map((one) => one.bytes), group.map(({ segment }) => segment.live)];
  const areSmall = bytes.every((size) => size < SMALL_BODY_BYTES);
  return areSmall && sum(bytes) <= MAX_MERGED_BYTES && sum(runs) <= MAX_SEGMENT_RUNS;
}

/** Whether dead versions take too great a share of segments. */
export function isWasteful(segments: RunSegment[]): boolean {
  const dead = sum(segments.map(({ live, info }) => info.runs - live));
  return dead > MAX_DEAD_SHARE * sum(segments.map(({ info }) => info.runs));
}

/** Whether dead versions take so many bytes that segments are rewritten. */
export function hasDeadBytes(segments: SizedSegment[]): boolean {
  const dead = segments.map(({ segment: { live, info }, bytes }) => bytes * (1 - live / info.runs));
  return sum(dead) >= MIN_DEAD_BYTES;
}

/** Returns the first segments whose live runs take no more memory than one segment, at least one. */
export function firstStep(segments: RunSegment[]): RunSegment[] {
  let [runs, chars] = [0, 0];
  const end = segments.findIndex(({ live, info }, n) => {
    runs += live;
    chars += live * (RUN_CHARS + info.payload_bytes / info.runs);
    return n > 0 && (runs > MAX_SEGMENT_RUNS || chars > MAX_CHARS);
  });
  return end < 0 ? segments : segments.slice(0, end);
}

export function sum(values: number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
