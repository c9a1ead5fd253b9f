import type { EncodedSegment, SegmentInfo } from "./codec/encode.ts";
import { ID_BYTES, KEY_WORDS, writeKey } from "./codec/uuids.ts";
import { handleOf, placeOf, RunIds, type RunPlace, runOf } from "./run-ids.ts";
import { RunSegment } from "./segment.ts";
import type { SegmentTable } from "./segment-table.ts";
import { TraceIndex } from "./trace-index.ts";

const NO_KEYS = new Uint32Array();

/** Segments of the storage and the newest place of each run, in memory. */
export class LoadedSegments {
  readonly #segments: (RunSegment | undefined)[] = [];
  readonly #byTable = new Map<string, Set<RunSegment>>();
  readonly #free: number[] = [];
  readonly #ids = new RunIds((handle) => this.#segments[handle]?.keys ?? NO_KEYS);
  readonly #traces = new TraceIndex();
  /** Greatest number of a segment so far, 0 without any. */
  lastNumber = 0;

  /**
   * Reads the segments in the order in which they were written, so that later versions of a run replace earlier ones.
   */
  constructor(tables: string[], table: SegmentTable) {
    const headers = tables.flatMap((name) =>
      table.headers(name).map((header) => ({ name, header })),
    );
    for (const { name, header } of headers.sort((a, b) => a.header.number - b.header.number)) {
      const { number, ids, traces, ...info } = header;
      this.#place(name, number, info, { ids, traces });
    }
  }

  get size(): number {
    return this.#ids.size;
  }

  /** Segments with live runs in the order in which they were written. */
  get all(): RunSegment[] {
    const live = this.#known.filter((segment) => segment.live > 0);
    return live.sort((a, b) => a.number - b.number);
  }

  /** Segments of a table, those without live runs included. */
  of(table: string): RunSegment[] {
    return [...(this.#byTable.get(table) ?? [])];
  }

  get(handle: number): RunSegment {
    const segment = this.#segments[handle];
    if (segment === undefined) throw new Error(`Segment ${handle} is not stored`);
    return segment;
  }

  find(id: string): RunPlace | null {
    const key = new Uint8Array(ID_BYTES);
    writeKey(id, key, 0);
    return this.#ids.find(new Uint32Array(key.buffer), 0);
  }

  /** Returns the segments that may have runs of a trace. */
  ofTrace(trace_id: string): RunSegment[] {
    const handles = this.#traces.find(trace_id);
    return [...handles].flatMap((handle) => this.#segments[handle] ?? []);
  }

  /** Returns true only when no other segment has live runs of a trace. */
  isOnlyIn(trace_hash: number, { handle }: RunSegment): boolean {
    return this.#traces.every(
      trace_hash,
      (other) => other === handle || !((this.#segments[other]?.live ?? 0) > 0),
    );
  }

  add(table: string, { ids, traces, ...encoded }: EncodedSegment): RunSegment {
    const { bloom: _, head: __, body: ___, ...info } = encoded;
    const blobs = { ids: ids.buffer as ArrayBuffer, traces: traces.buffer as ArrayBuffer };
    return this.#place(table, this.lastNumber + 1, info, blobs);
  }

  /** Removes a table's segments without live runs from memory, and returns them. */
  removeEmpty(table: string): RunSegment[] {
    const empty = this.of(table).filter((segment) => segment.live === 0);
    for (const segment of empty) {
      this.#byTable.get(table)?.delete(segment);
      this.#segments[segment.handle] = undefined;
      this.#free.push(segment.handle);
    }
    return empty;
  }

  /** Returns the segments with any version of the runs. */
  withVersions(ids: ReadonlySet<string>): RunSegment[] {
    // The place of a wanted id is its number in `keys`.
    const keys = new Uint32Array(KEY_WORDS * ids.size);
    const wanted = new RunIds((handle) => keys.subarray(KEY_WORDS * placeOf(handle, 0)));
    for (const [n, id] of [...ids].entries()) {
      writeKey(id, new Uint8Array(keys.buffer), ID_BYTES * n);
      wanted.set(keys, n, n);
    }
    return this.#known.filter((segment) => {
      for (let n = 0; n < segment.info.runs; n++) {
        if (wanted.find(segment.keys, n) !== null) return true;
      }
      return false;
    });
  }

  get #known(): RunSegment[] {
    return this.#segments.filter((segment) => segment !== undefined);
  }

  #place(
    table: string,
    number: number,
    info: SegmentInfo,
    { ids, traces }: { ids: ArrayBuffer; traces: ArrayBuffer },
  ): RunSegment {
    const handle = this.#free.pop() ?? this.#segments.length;
    const segment = new RunSegment(handle, table, number, info, ids);
    this.#segments[handle] = segment;
    this.#byTable.set(table, (this.#byTable.get(table) ?? new Set()).add(segment));
    this.#traces.add(new Uint32Array(traces), handle);
    this.lastNumber = Math.max(this.lastNumber, number);
    for (let n = 0; n < info.runs; n++) {
      const before = this.#ids.set(segment.keys, n, placeOf(handle, n));
      if (before !== null) this.#segments[handleOf(before)]?.markDead(runOf(before));
    }
    return segment;
  }
}
