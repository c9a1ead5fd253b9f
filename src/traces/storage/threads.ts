import { matchRuns, type RunsQuery } from "../reads/query.ts";
import { isCounted } from "../rollup/usage-sql.ts";
import {
  type CountedRun,
  RunTotals,
  TIMES,
  TIMING_COLUMNS,
  type TotalsData,
  USAGE_COLUMNS,
} from "../totals.ts";
import type { Usage } from "../usage.ts";

/** Totals of a thread in one partition, by the roots of its traces. */
export type ThreadTotals = {
  thread_id: string;
  totals: TotalsData;
  first: { id: string; start_us: number };
  last: { id: string; start_us: number };
};

/** Maximum number of threads read from one partition, newest first. */
const MAX_THREADS = 10_000;

type Root = CountedRun & { id: string; thread_id: string };
type Thread = { totals: RunTotals; first: Root; last: Root };

export function collectThreads(sql: SqlStorage, query: RunsQuery): ThreadTotals[] {
  const { text, params } = matchRuns(sql, query);
  const matching = `FROM runs r WHERE ${text} AND r.is_root = 1 AND r.thread_id IS NOT NULL`;
  const nothing = USAGE_COLUMNS.map((name) => `NULL AS ${name}`);
  const columns = ["id", "thread_id", ...TIMING_COLUMNS, ...nothing].join();
  const threads = new Map<string, Thread>();
  const roots = `SELECT ${columns} ${matching} ORDER BY r.start_us DESC, r.id DESC`;
  for (const root of sql.exec<Root>(roots, ...params)) addRoot(threads, root);
  const used = `SELECT t.thread_id, ${USAGE_COLUMNS.map((name) => `r.${name}`).join()}
    FROM (SELECT r.trace_id, r.thread_id ${matching}) t JOIN runs r ON r.trace_id = t.trace_id
    WHERE ${isCounted("r")}`;
  for (const run of sql.exec<Usage & { thread_id: string }>(used, ...params)) {
    threads.get(run.thread_id)?.totals.addUsage(run);
  }
  return [...threads].map(([thread_id, { totals, first, last }]) => ({
    thread_id,
    totals: totals.toData(),
    first: { id: first.id, start_us: first.start_us },
    last: { id: last.id, start_us: last.start_us },
  }));
}

/** Expects the newest root first. */
function addRoot(threads: Map<string, Thread>, root: Root): void {
  const thread = threads.get(root.thread_id);
  if (thread) {
    thread.totals.add(root);
    thread.first = root;
  } else if (threads.size < MAX_THREADS) {
    const totals = new RunTotals(TIMES);
    totals.add(root);
    threads.set(root.thread_id, { totals, first: root, last: root });
  }
}
