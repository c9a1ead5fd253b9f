import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { toIso } from "../../shared/times.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import type { ThreadTotals } from "../aggregates/threads.ts";
import type { PartitionKey } from "../changes.ts";
import { tracePartition } from "../object/stub.ts";
import type { RunsQueryRequest } from "../query/query-schema.ts";
import { assertTraceRate } from "../rates.ts";
import { copyBeginning, loadBeginning } from "../rows/payloads.ts";
import type { Pointers } from "../rows/rows.ts";
import { RunTotals, TIMES } from "../totals.ts";
import { type GroupRunsRequest, RunGroups } from "./group-schema.ts";
import { queryPartitions } from "./partition-queries.ts";
import { toTraceStats } from "./run-stats.ts";

const PREVIEW_CHARS = 1000;
/**
 * Number of threads that are read at once. A thread takes up to 700 KB of payloads and errors while it is read. Only
 * their beginnings are kept.
 */
export const GROUPS_AT_ONCE = 10;

/** Root run of the first or the last trace of a thread. */
type End = { id: string; start_us: number; partition: PartitionKey };
/** Totals of a thread, by the roots of its traces. */
export type TraceThread = { thread_id: string; totals: RunTotals; first: End; last: End };
export type ThreadsQuery = Pick<
  RunsQueryRequest,
  | "session"
  | "filter"
  | "search_filter"
  | "trace_filter"
  | "tree_filter"
  | "start_time"
  | "end_time"
> & { max_seq?: number | null };

/** Groups a project's root runs by thread, most recently active first. */
export async function groupRuns(ctx: Context, input: GroupRunsRequest): Promise<RunGroups> {
  assertMay(ctx, "read");
  assertTraceRate(ctx, "read");
  const { session_id, limit, offset, ...query } = input;
  const sorted = await findThreads(ctx, { ...query, session: [session_id] });
  const page = sorted.slice(offset, offset + limit);
  const groups = await mapConcurrent(page, GROUPS_AT_ONCE, (thread) => toGroup(ctx, thread));
  return RunGroups.parse({ groups, total: sorted.length });
}

/** Returns the threads of the matching root runs, most recently active first. */
export async function findThreads(ctx: Context, input: ThreadsQuery): Promise<TraceThread[]> {
  const { session, filter, search_filter, trace_filter, tree_filter } = input;
  const { start_time, end_time, max_seq = null } = input;
  const query = {
    ...{ session, filter, search_filter, trace_filter, tree_filter },
    ...{ start_time, end_time, is_root: true },
  };
  const threads = new Map<string, TraceThread>();
  const answers = queryPartitions(ctx, query, async (partition, runsQuery) => ({
    partition,
    found: await tracePartition(ctx.env, partition).getThreads({ ...runsQuery, max_seq }),
  }));
  for await (const step of answers) {
    for (const { partition, found } of step) {
      for (const one of found) addTo(threads, one, partition);
    }
  }
  return [...threads.values()].sort((a, b) => b.last.start_us - a.last.start_us);
}

function addTo(
  threads: Map<string, TraceThread>,
  one: ThreadTotals,
  partition: PartitionKey,
): void {
  const [first, last] = [
    { ...one.first, partition },
    { ...one.last, partition },
  ];
  const { thread_id } = one;
  const thread = threads.get(thread_id) ?? { thread_id, totals: new RunTotals(TIMES), first, last };
  thread.totals.merge(one.totals);
  if (first.start_us < thread.first.start_us) thread.first = first;
  if (last.start_us > thread.last.start_us) thread.last = last;
  threads.set(thread_id, thread);
}

export async function toGroup(ctx: Context, { thread_id, totals, first, last }: TraceThread) {
  const [begun, ended] = await Promise.all([
    read(ctx, first, "inputs"),
    read(ctx, last, "outputs"),
  ]);
  return {
    ...toTraceStats(totals, []),
    group_key: thread_id,
    thread_id,
    filter: `eq(thread_id, ${JSON.stringify(thread_id)})`,
    count: totals.runs,
    min_start_time: toIso(first.start_us),
    max_start_time: toIso(last.start_us),
    feedback_stats: null,
    first_inputs: begun.text,
    last_outputs: ended.text,
    last_error: ended.error,
  };
}

async function read(
  ctx: Context,
  { id, partition }: End,
  name: "inputs" | "outputs",
): Promise<{ text: string; error: string | null }> {
  const { runs } = await tracePartition(ctx.env, partition).getRuns(
    [id],
    [name, "error", "pointers"],
  );
  const [row] = runs;
  const pointers: Pointers = row?.pointers ? JSON.parse(row.pointers) : {};
  const key = pointers[name]?.key;
  const text =
    key === undefined ? beginningOf(row?.[name]) : await loadBeginning(ctx.env, key, PREVIEW_CHARS);
  return { text: text ?? "", error: beginningOf(row?.error) };
}

function beginningOf(text: string | null | undefined): string | null {
  return text == null ? null : copyBeginning(text, PREVIEW_CHARS);
}
