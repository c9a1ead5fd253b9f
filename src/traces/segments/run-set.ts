import type { DescendantsWithUsage, RunSelection, SegmentCount } from "../rows/run-source.ts";
import { type TermRange, termOf } from "../terms.ts";
import { mayContain } from "./codec/bloom.ts";
import { compareTexts } from "./codec/uuids.ts";
import { conditionOf, overlaps, type SegmentTest } from "./conditions.ts";
import { type MergeInput, mergeSorted, type SortedRuns } from "./merge-order.ts";
import { runOf } from "./run-ids.ts";
import type { RunSegment } from "./segment.ts";
import { countBySegments } from "./segment-count.ts";
import { SegmentRun } from "./segment-run.ts";
import type { SegmentUsage } from "./segment-usage.ts";
import type { SegmentStore } from "./store.ts";

/** Key of the order, and the least key of a segment. */
type Order = {
  keys: (segment: RunSegment) => Float64Array;
  boundOf: (segment: RunSegment) => number;
};

/** Maximum number of segments whose usage a lookup keeps in memory. */
const MAX_USAGES = 64;

/** Live runs of one partition, read from its segments. */
export class RunSet {
  readonly #store: SegmentStore;

  constructor(store: SegmentStore) {
    this.#store = store;
  }

  /** Returns the ids that are stored. */
  storedIds(ids: string[]): string[] {
    return ids.filter((id) => this.#store.find(id) !== null);
  }

  byId(id: string): SegmentRun | null {
    const place = this.#store.find(id);
    if (place === null) return null;
    return new SegmentRun(this.#store, this.#store.segmentOf(place), runOf(place));
  }

  ofTrace(trace_id: string): SegmentRun[] {
    const term = termOf("tag", "trace", trace_id);
    const runs: SegmentRun[] = [];
    for (const segment of this.#store.ofTrace(trace_id)) {
      for (const n of this.#store.head(segment).terms.find([{ first: term, last: term }])) {
        const run = segment.isLive(n) ? new SegmentRun(this.#store, segment, n) : null;
        if (run?.trace_id === trace_id) runs.push(run);
      }
    }
    return runs;
  }

  descendantsWithUsage(): DescendantsWithUsage {
    const usages = new Map<RunSegment, SegmentUsage>();
    return (run) => {
      if (!(run instanceof SegmentRun)) return null;
      const { segment, n } = run;
      let usage = usages.get(segment);
      if (usage === undefined) {
        if (usages.size === MAX_USAGES) usages.clear();
        usage = this.#store.usageOf(segment);
        usages.set(segment, usage);
      }
      return usage.below(n)?.map((m) => new SegmentRun(this.#store, segment, m)) ?? null;
    };
  }

  /** Yields at least the runs that the selection describes. */
  live(selection: RunSelection): Iterable<SegmentRun> {
    if (selection.trace_ids !== null) {
      const runs = [...new Set(selection.trace_ids)].flatMap((id) => this.ofTrace(id));
      return this.#sorted(runs, selection.order);
    }
    if (selection.ids !== null) {
      const runs = [...new Set(selection.ids)].flatMap((id) => this.byId(id) ?? []);
      return this.#sorted(runs, selection.order);
    }
    const { order, candidates } = selection;
    const segments = this.#store.all.filter((segment) => overlaps(segment, selection));
    const isWanted = conditionOf(this.#store, selection);
    if (order === null) return this.#inAnyOrder(segments, candidates, isWanted);
    return this.#inOrder(segments, candidates, isWanted, order === "asc" ? 1 : -1);
  }

  countBySegments(selection: RunSelection, limit: number): SegmentCount | null {
    return countBySegments(this.#store, selection, limit);
  }

  /** Yields runs that changed at or after a sequence, in the order of their changes. */
  *changedFrom(seq: number): Generator<SegmentRun> {
    const keys = (segment: RunSegment) => this.#store.head(segment).numbers("changed_seq");
    const segments = this.#store.all.filter(({ info }) => info.max_changed >= seq);
    const order = { keys, boundOf: ({ info }: RunSegment) => info.min_changed };
    const isWanted = (segment: RunSegment) => {
      const changes = keys(segment);
      return (n: number) => (changes[n] ?? 0) >= seq;
    };
    const rowOf = (segment: RunSegment, n: number) =>
      this.#store.head(segment).number("row", n) ?? 0;
    const ties = (a: RunSegment, n: number, b: RunSegment, m: number) => rowOf(a, n) - rowOf(b, m);
    const inputs = segments.map((one) => this.#input(one, order, [], isWanted, ties));
    for (const { segment, n } of mergeSorted(inputs, ties)) {
      yield new SegmentRun(this.#store, segment, n);
    }
  }

  #sorted(runs: SegmentRun[], order: RunSelection["order"]): SegmentRun[] {
    if (order === null) return runs;
    const sign = order === "asc" ? 1 : -1;
    return runs.sort((a, b) => sign * (a.start_us - b.start_us || compareTexts(a.id, b.id)));
  }

  *#inAnyOrder(
    segments: RunSegment[],
    candidates: TermRange[][],
    isWanted: SegmentTest,
  ): Generator<SegmentRun> {
    for (const segment of segments) {
      for (const n of this.#chosen(segment, candidates, isWanted)) {
        yield new SegmentRun(this.#store, segment, n);
      }
    }
  }

  *#inOrder(
    segments: RunSegment[],
    candidates: TermRange[][],
    isWanted: SegmentTest,
    sign: 1 | -1,
  ): Generator<SegmentRun> {
    const starts = (segment: RunSegment) => this.#store.head(segment).numbers("start_us");
    const order: Order =
      sign === 1
        ? { keys: starts, boundOf: ({ info }) => info.min_us }
        : {
            keys: (one) => starts(one).map((start) => -start),
            boundOf: ({ info }) => -info.max_us,
          };
    const ties = (a: RunSegment, n: number, b: RunSegment, m: number) =>
      sign * this.#store.head(a).compareIds(n, this.#store.head(b), m);
    const inputs = segments.map((one) => this.#input(one, order, candidates, isWanted, ties));
    for (const { segment, n } of mergeSorted(inputs, ties)) {
      yield new SegmentRun(this.#store, segment, n);
    }
  }

  #input(
    segment: RunSegment,
    { keys, boundOf }: Order,
    candidates: TermRange[][],
    isWanted: SegmentTest,
    ties: (a: RunSegment, n: number, b: RunSegment, m: number) => number,
  ): MergeInput<RunSegment> {
    const open = (): SortedRuns => {
      const runs = this.#chosen(segment, candidates, isWanted);
      const values = runs.length === 0 ? new Float64Array() : keys(segment);
      const keyOf = (n: number) => values[n] ?? 0;
      runs.sort((a, b) => keyOf(a) - keyOf(b) || ties(segment, a, segment, b));
      return { keys: Float64Array.from(runs, keyOf), runs: Uint16Array.from(runs) };
    };
    return { bound: boundOf(segment), open, segment };
  }

  /** Returns the live runs of a segment that have the terms and meet the condition. */
  #chosen(segment: RunSegment, candidates: TermRange[][], isWanted: SegmentTest): number[] {
    const among = this.#among(segment, candidates);
    if (among !== null && among.size === 0) return [];
    const isChosen = isWanted(segment);
    const chosen: number[] = [];
    for (let n = 0; n < segment.info.runs; n++) {
      if (!segment.isLive(n) || among?.has(n) === false) continue;
      if (isChosen(n)) chosen.push(n);
    }
    return chosen;
  }

  /** Returns the runs with a term of each list, `null` without lists. */
  #among(segment: RunSegment, candidates: TermRange[][]): Set<number> | null {
    if (candidates.length === 0) return null;
    const bloom = this.#store.bloom(segment);
    const none = candidates.find((ranges) => !ranges.some((range) => mayContain(bloom, range)));
    if (none !== undefined) return new Set();
    const { terms } = this.#store.head(segment);
    const lists = candidates.map((ranges) => terms.find(ranges));
    const [first = new Set<number>(), ...others] = lists.sort((a, b) => a.size - b.size);
    return new Set([...first].filter((n) => others.every((list) => list.has(n))));
  }
}
