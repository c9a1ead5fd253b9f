import type { RunsQuery } from "../reads/query.ts";
import type { RunReader } from "../reads/run-reader.ts";
import { type CountedRun, RunTotals, TIMES, type TotalsData } from "../totals.ts";
import { NO_USAGE } from "../usage.ts";
import { timingOf } from "./matching-runs.ts";

/** Totals of a thread in one partition, by the roots of its traces. */
export type ThreadTotals = {
  thread_id: string;
  totals: TotalsData;
  first: { id: string; start_us: number };
  last: { id: string; start_us: number };
};

/** Maximum number of threads read from one partition: those with the newest roots. */
const MAX_THREADS = 10_000;

type Root = CountedRun & { id: string; trace_id: string };
type Thread = { totals: RunTotals; first: Root; last: Root };

export function collectThreads(reader: RunReader, query: RunsQuery): ThreadTotals[] {
  const threads = new Map<string, Thread>();
  for (const run of reader.matching({ ...query, order: "desc" }, "desc")) {
    const { id, trace_id, is_root, thread_id } = run;
    if (is_root !== 1 || thread_id === null) continue;
    addRoot(threads, thread_id, { id, trace_id, ...timingOf(run), ...NO_USAGE });
    const thread = threads.get(thread_id);
    if (thread === undefined) continue;
    for (const used of reader.usage.trace(trace_id).counted()) thread.totals.addUsage(used);
  }
  return [...threads].map(([thread_id, { totals, first, last }]) => ({
    thread_id,
    totals: totals.toData(),
    first: { id: first.id, start_us: first.start_us },
    last: { id: last.id, start_us: last.start_us },
  }));
}

/** Expects the newest root first. */
function addRoot(threads: Map<string, Thread>, thread_id: string, root: Root): void {
  const thread = threads.get(thread_id);
  if (thread) {
    thread.totals.add(root);
    thread.first = root;
  } else if (threads.size < MAX_THREADS) {
    const totals = new RunTotals(TIMES);
    totals.add(root);
    threads.set(thread_id, { totals, first: root, last: root });
  }
}
