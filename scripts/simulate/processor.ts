import { readFileSync } from "node:fs";

/** Processor time that benchmarks measured. It is read from docs/performance.md, because no test can count it. */
export type Processor = {
  run_ms: number;
  /** Per span of `/runs/batch` in batches of 100, with the share of the object. */
  span_us: number;
  span_in_object_us: number;
};

const PERFORMANCE = new URL("../../docs/performance.md", import.meta.url);

export function readProcessor(page = readFileSync(PERFORMANCE, "utf8")): Processor {
  return {
    run_ms: find(page, /\| Part of a threadless, traced run \((\d+) ms of CPU\)/),
    span_us: find(page, /\| `\/runs\/batch`, 100 runs of 2 KB\s*\| (\d+) µs/),
    span_in_object_us: find(page, /\| the object alone, 100 runs of 2 KB\s*\| (\d+) µs/),
  };
}

function find(page: string, row: RegExp): number {
  const value = row.exec(page)?.[1];
  if (value === undefined) throw new Error(`docs/performance.md has no row ${row.source}`);
  return Number(value);
}
