import type { TermRange } from "../../terms.ts";
import type { ByteReader, ByteWriter } from "./bytes.ts";

/** Sorted terms of a segment, each with the runs that have it. */
export class TermIndex {
  readonly #terms: Float64Array;
  readonly #starts: Uint32Array;
  readonly #runs: Uint16Array;
  #byRun: number[][] | null = null;

  constructor(reader: ByteReader) {
    reader.align(8);
    const [count, entries] = [reader.u32(), reader.u32()];
    this.#terms = reader.f64s(count);
    this.#starts = reader.u32s(count + 1);
    this.#runs = reader.u16s(entries);
  }

  /** Returns the runs that have a term of the ranges. */
  find(ranges: TermRange[]): Set<number> {
    const found = new Set<number>();
    for (const { first, last } of ranges) {
      for (
        let n = this.#lowerBound(first);
        (this.#terms[n] ?? Number.POSITIVE_INFINITY) <= last;
        n++
      )
        for (const run of this.#runsOf(n)) found.add(run);
    }
    return found;
  }

  /** Returns the terms of a run. */
  of(run: number): number[] {
    this.#byRun ??= this.#invert();
    return this.#byRun[run] ?? [];
  }

  #invert(): number[][] {
    const lists: number[][] = [];
    for (const [n, term] of this.#terms.entries()) {
      for (const run of this.#runsOf(n)) {
        lists[run] ??= [];
        lists[run].push(term);
      }
    }
    return lists;
  }

  #runsOf(n: number): Uint16Array {
    return this.#runs.subarray(this.#starts[n], this.#starts[n + 1]);
  }

  #lowerBound(term: number): number {
    let [low, high] = [0, this.#terms.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#terms[middle] ?? 0) < term) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Writes the index. Returns its sorted terms. */
export function writeTerms(writer: ByteWriter, runs: { terms: number[] }[]): Float64Array {
  const lists = runsByTerm(runs);
  const terms = Float64Array.from(lists.keys()).sort();
  const starts = new Uint32Array(terms.length + 1);
  for (const [n, term] of terms.entries()) {
    starts[n + 1] = (starts[n] ?? 0) + (lists.get(term)?.length ?? 0);
  }
  const entries = new Uint16Array(starts.at(-1) ?? 0);
  for (const [n, term] of terms.entries()) entries.set(lists.get(term) ?? [], starts[n]);
  writer.align(8);
  writer.u32(terms.length);
  writer.u32(entries.length);
  for (const numbers of [terms, starts, entries]) writer.numbers(numbers);
  return terms;
}

function runsByTerm(runs: { terms: number[] }[]): Map<number, number[]> {
  const lists = new Map<number, number[]>();
  for (const [n, { terms }] of runs.entries()) {
    for (const term of terms) {
      const list = lists.get(term);
      if (list === undefined) lists.set(term, [n]);
      else if (list.at(-1) !== n) list.push(n);
    }
  }
  return lists;
}
