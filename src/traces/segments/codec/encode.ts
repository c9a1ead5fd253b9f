import { PAYLOADS } from "../../changes.ts";
import type { Pointers } from "../../rows/rows.ts";
import type { RunVersion } from "./columns.ts";
import { encodeFrames, pack } from "./frames.ts";
import { encodeHead } from "./head.ts";
import { hashTraces } from "./trace-hashes.ts";
import { ID_BYTES, writeKey } from "./uuids.ts";

/** Range and sums of all versions in a segment, dead ones included. */
export type SegmentInfo = {
  runs: number;
  min_us: number;
  max_us: number;
  min_changed: number;
  max_changed: number;
  /** Size of the payloads before compression, with those in R2. */
  payload_bytes: number;
  /** Size of the head before compression. */
  head_bytes: number;
};

export type EncodedSegment = SegmentInfo & {
  ids: Uint8Array;
  /** Hashes of the traces. */
  traces: Uint8Array;
  bloom: Uint8Array;
  head: Uint8Array;
  body: Uint8Array;
};

/**
 * Maximum number of runs in a segment. A `RunPlace` is computed with it. Indexes keep the number of a run in 16 bits.
 */
export const MAX_SEGMENT_RUNS = 4096;
/** A row of SQLite holds 2 MB. */
const MAX_BYTES = 1_800_000;
/** Bounds the memory of one segment, in characters before compression. */
export const MAX_CHARS = 4_000_000;
/** Estimated size of a run without its texts. */
export const RUN_CHARS = 300;

/** Encodes runs as segments that fit a row each. */
export function* encodeSegments(runs: RunVersion[]): Generator<EncodedSegment> {
  let first = 0;
  let chars = 0;
  for (const [n, run] of runs.entries()) {
    const more = charsOf(run);
    const isFull = n - first === MAX_SEGMENT_RUNS || chars + more > MAX_CHARS;
    if (n > first && isFull) {
      yield* encodeFitting(runs.slice(first, n));
      [first, chars] = [n, 0];
    }
    chars += more;
  }
  if (first < runs.length) yield* encodeFitting(runs.slice(first));
}

function* encodeFitting(runs: RunVersion[]): Generator<EncodedSegment> {
  const encoded = encodeSegment(runs);
  const { ids, traces, bloom, head, body } = encoded;
  const bytes = ids.length + traces.length + bloom.length + head.length + body.length;
  if (bytes <= MAX_BYTES || runs.length === 1) {
    yield encoded;
    return;
  }
  const middle = runs.length >>> 1;
  yield* encodeFitting(runs.slice(0, middle));
  yield* encodeFitting(runs.slice(middle));
}

export function encodeSegment(runs: RunVersion[]): EncodedSegment {
  const { body, frames, ...inline } = encodeFrames(runs);
  const { head, bloom } = encodeHead(runs, frames);
  const ids = new Uint8Array(ID_BYTES * runs.length);
  for (const [n, { id }] of runs.entries()) writeKey(id, ids, ID_BYTES * n);
  const traces = new Uint8Array(hashTraces(runs).buffer);
  const payload_bytes = runs.reduce((sum, run) => sum + r2Bytes(run), inline.payload_bytes);
  const info = { ...infoOf(runs), payload_bytes };
  return { ...info, head_bytes: head.length, ids, traces, bloom, head: pack(head), body };
}

function infoOf(runs: RunVersion[]): Omit<SegmentInfo, "head_bytes" | "payload_bytes"> {
  const infinite = { min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY };
  const [time, change] = [{ ...infinite }, { ...infinite }];
  for (const run of runs) {
    widen(time, run.start_us);
    widen(change, run.changed_seq);
  }
  return {
    runs: runs.length,
    min_us: time.min,
    max_us: time.max,
    min_changed: change.min,
    max_changed: change.max,
  };
}

function widen(range: { min: number; max: number }, value: number): void {
  range.min = Math.min(range.min, value);
  range.max = Math.max(range.max, value);
}

/** Returns the size of the payloads in R2. */
function r2Bytes({ pointers }: RunVersion): number {
  if (pointers === null) return 0;
  const far: Pointers = JSON.parse(pointers);
  return PAYLOADS.reduce((sum, name) => sum + (far[name]?.bytes ?? 0), 0);
}

/** Estimates the size of a run before compression. A term takes 8 bytes, and the number of its run 2. */
export function charsOf(run: RunVersion): number {
  let chars = RUN_CHARS + 10 * run.terms.length;
  for (const value of Object.values(run)) if (typeof value === "string") chars += value.length;
  return chars;
}
