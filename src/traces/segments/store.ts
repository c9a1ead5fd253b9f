import { ColdBodies } from "../cold/cold-bodies.ts";
import type { RunVersion } from "./codec/columns.ts";
import { DecodedCache, DecodedValue } from "./codec/decoded.ts";
import { type Frame, type FrameEntry, NO_PAYLOADS, unpack, unpackFrame } from "./codec/frames.ts";
import { SegmentHead } from "./codec/head.ts";
import { readStored } from "./codec/stored-run.ts";
import { LoadedSegments } from "./loaded.ts";
import { handleOf, type RunPlace, runOf } from "./run-ids.ts";
import type { RunSegment } from "./segment.ts";
import { SEGMENTS, SegmentTable, smallTable } from "./segment-table.ts";
import { SegmentUsage } from "./segment-usage.ts";

/** Limit of the decoded heads and frames, and of the packed bodies, of all partitions in the isolate. */
const CACHED_BYTES = 24 * 1024 * 1024;
const cache = new DecodedCache(CACHED_BYTES);

/** Key of the number in the name of the current table of small segments. */
export const GENERATION = "small_segments";

/** Reads the segments of one partition. Of several versions of a run, the newest is the live one. */
export class SegmentStore {
  readonly cold: ColdBodies;
  readonly #storage: DurableObjectStorage;
  readonly #table: SegmentTable;
  #loaded: LoadedSegments | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#table = new SegmentTable(storage.sql);
    this.cold = new ColdBodies(storage.sql);
  }

  /** Clears the caches after the storage was rolled back or replaced. */
  reset(): void {
    this.#loaded = null;
    this.cold.clearCache();
  }

  /** Number of live runs. */
  get size(): number {
    return this.loaded.size;
  }

  /** Average size of a run's payloads before compression, 0 without runs. */
  get payloadBytes(): number {
    let [runs, bytes] = [0, 0];
    for (const { info } of this.all) {
      runs += info.runs;
      bytes += info.payload_bytes;
    }
    return runs === 0 ? 0 : bytes / runs;
  }

  /** Size of the bodies in the object. */
  get bodyBytes(): number {
    const sizes = [SEGMENTS, this.smallTable].flatMap((table) => [
      ...this.#table.bodyBytes(table).values(),
    ]);
    return sizes.reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Range of the start times. Versions that are not live can widen it. */
  get range(): { min_start_us: number | null; max_start_us: number | null } {
    const { all } = this;
    if (all.length === 0) return { min_start_us: null, max_start_us: null };
    return {
      min_start_us: all.reduce((least, { info }) => Math.min(least, info.min_us), Infinity),
      max_start_us: all.reduce((most, { info }) => Math.max(most, info.max_us), -Infinity),
    };
  }

  /** Segments with live runs in the order in which they were written. */
  get all(): RunSegment[] {
    return this.loaded.all;
  }

  /** Returns the segments that may have runs of a trace. */
  ofTrace(trace_id: string): RunSegment[] {
    return this.loaded.ofTrace(trace_id);
  }

  find(id: string): RunPlace | null {
    return this.loaded.find(id);
  }

  segmentOf(place: RunPlace): RunSegment {
    return this.loaded.get(handleOf(place));
  }

  read(place: RunPlace): RunVersion {
    return this.#readRun(this.segmentOf(place), runOf(place));
  }

  head(segment: RunSegment): SegmentHead {
    const { head } = segment;
    head.isUsed = true;
    return head.value ?? cache.add(head, this.#readHead(segment));
  }

  usageOf(segment: RunSegment): SegmentUsage {
    const { loaded } = this;
    return new SegmentUsage(this.head(segment), segment, (trace) =>
      loaded.isOnlyIn(trace, segment),
    );
  }

  /**
   * Returns the frame that has a run's payloads, or one without texts while it must be fetched from R2.
   * @throws Error when it must be fetched, and no attempt of `ColdBodies` is under way
   */
  frame(segment: RunSegment, n: number): Frame {
    const head = this.head(segment);
    const at = head.frameOf(n);
    segment.frames[at] ??= new DecodedValue();
    const frame = segment.frames[at];
    frame.isUsed = true;
    if (frame.value !== null) return frame.value;
    const read = this.#readFrame(segment, head, at);
    return read === null ? NO_PAYLOADS : cache.add(frame, read);
  }

  #readHead({ table, number, info, keys }: RunSegment): SegmentHead {
    const packed = this.#table.blob(table, number, "head");
    return new SegmentHead(unpack(packed, info.head_bytes), new Uint8Array(keys.buffer));
  }

  /** Returns `null` for a frame that must be fetched from R2. */
  #readFrame(segment: RunSegment, { frames }: SegmentHead, at: number): Frame | null {
    const entry = frames[at];
    if (entry === undefined) throw new Error(`Segment ${segment.number} lacks a frame`);
    const key = this.cold.r2KeyOf(segment.number);
    if (key !== null) {
      const packed = this.cold.frame(segment.number, key, entry);
      return packed && unpackFrame(packed, entry);
    }
    const isNext = at === segment.lastFrame + 1;
    segment.lastFrame = at;
    const frame = unpackFrame(this.#packedFrame(segment, entry, isNext), entry);
    if (at === frames.length - 1) cache.remove(segment.body);
    return frame;
  }

  /**
   * Reads the whole rest of the body once a frame is read after the one before it: the following frames are likely
   * next.
   */
  #packedFrame(
    segment: RunSegment,
    { offset, packed_bytes }: FrameEntry,
    isNext: boolean,
  ): Uint8Array {
    const { table, number, body } = segment;
    if (body.value === null && isNext && offset > 0) {
      const rest = this.#table.bodyPart(table, number, offset, null);
      cache.add(body, { packed: rest, offset, bytes: rest.length });
    }
    body.isUsed = true;
    if (body.value === null || body.value.offset > offset) {
      return this.#table.bodyPart(table, number, offset, packed_bytes);
    }
    const start = offset - body.value.offset;
    return body.value.packed.subarray(start, start + packed_bytes);
  }

  bloom({ table, number }: RunSegment): Uint8Array {
    return this.#table.blob(table, number, "bloom");
  }

  /** Returns the counts that were written with the newest segment, `null` without segments. */
  newestCounts(): string | null {
    const [a, b] = [SEGMENTS, this.smallTable].map((table) => this.#table.newestCounts(table));
    const newest = (a?.number ?? -1) > (b?.number ?? -1) ? a : b;
    return newest?.counts ?? null;
  }

  /** Returns the runs of a segment that have no newer version. */
  liveRuns(segment: RunSegment): RunVersion[] {
    const runs: RunVersion[] = [];
    for (let n = 0; n < segment.info.runs; n++) {
      if (segment.isLive(n)) runs.push(this.#readRun(segment, n));
    }
    return runs;
  }

  #readRun(segment: RunSegment, n: number): RunVersion {
    return readStored(this.head(segment), this.frame(segment, n), n);
  }

  /** Segments and ids in memory, read when they are needed. */
  get loaded(): LoadedSegments {
    this.#loaded ??= new LoadedSegments([SEGMENTS, this.smallTable], this.#table);
    return this.#loaded;
  }

  get generation(): number {
    return this.#storage.kv.get<number>(GENERATION) ?? 0;
  }

  /** Table that small segments are written to. */
  get smallTable(): string {
    return smallTable(this.generation);
  }
}
