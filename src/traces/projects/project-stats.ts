import { and, asc, gte, isNull, ne, or, type SQL, sql } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { invalid } from "../../shared/errors.ts";
import { among, inWorkspace } from "../../shared/storage/sql.ts";
import { dayOf, nowMicros, toMicros } from "../../shared/times.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import { type FeedbackTotals, mergeFeedback } from "../aggregates/feedback-totals.ts";
import type { TraceTotals } from "../aggregates/stats.ts";
import { partitions } from "../catalogue/table.ts";
import type { PartitionKey } from "../changes.ts";
import { tracePartition } from "../object/stub.ts";
import { toTraceStats } from "../stats/run-stats.ts";
import type { TraceStats } from "../stats/trace-stats-schema.ts";
import { RunTotals, TIMES } from "../totals.ts";
import type { ProjectQuery } from "./schema.ts";

const WEEK_US = 7 * 86_400_000_000;
/** Rows of a statement. Bounds the memory: the totals of a row have up to about 300 KB, mostly a few KB. */
const PAGE_ROWS = 200;
/** Maximum number of partitions whose totals are read from the object. Limit of Workers: 10,000 subrequests. */
const MAX_OBJECTS = 5000;
const AT_ONCE = 25;

/** Returns statistics by project. Those of several projects begin a week ago, unless `stats_start_time` is set. */
export async function statsFor(
  ctx: Context,
  ids: string[],
  { include_stats, stats_start_time }: Partial<ProjectQuery>,
): Promise<Map<string, TraceStats>> {
  if (!include_stats || ids.length === 0) return new Map();
  const since = stats_start_time ? toMicros(stats_start_time) : null;
  const first = since ?? (ids.length > 1 ? nowMicros() - WEEK_US : null);
  const inScope = and(
    inWorkspace(ctx, partitions),
    among(partitions.project_id, ids),
    first === null ? undefined : gte(partitions.day, dayOf(first)),
  );
  await assertReadable(ctx, inScope);
  const sums = new Map(ids.map((id) => [id, newSum()]));
  for await (const rows of partitionPages(ctx, inScope)) {
    await mapConcurrent(rows, AT_ONCE, async (row) => {
      addTo(sums.get(row.project_id), await totalsOf(ctx, row));
    });
    for (const sum of sums.values()) sum.feedback = mergeFeedback(sum.feedback);
  }
  return new Map(
    [...sums].map(([id, { totals, feedback }]) => [id, toTraceStats(totals, feedback)]),
  );
}

/** @throws AppError 422 when too many partitions have changed since the catalogue has their totals */
async function assertReadable(ctx: Context, inScope: SQL | undefined): Promise<void> {
  const { seq, stats_seq } = partitions;
  const changed = await ctx.db.$count(
    partitions,
    and(inScope, or(isNull(stats_seq), ne(stats_seq, seq))),
  );
  if (changed <= MAX_OBJECTS) return;
  const text = `${changed} partitions, which are days of a project, have changed since their totals were stored: at most ${MAX_OBJECTS} are read; send a later stats_start_time or fewer projects, or repeat the request later`;
  throw invalid(["query", "stats_start_time"], text);
}

type PartitionRow = Awaited<ReturnType<typeof selectPartitions>>[number];

/** Yields the partitions in scope, a page at a time. */
async function* partitionPages(
  ctx: Context,
  inScope: SQL | undefined,
): AsyncGenerator<PartitionRow[]> {
  for (let rows = await selectPartitions(ctx, inScope); ; ) {
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_ROWS) return;
    rows = await selectPartitions(ctx, and(inScope, isAfter(last)));
  }
}

function selectPartitions(ctx: Context, where: SQL | undefined) {
  const { project_id, day, slot, seq, stats, stats_seq } = partitions;
  return ctx.db
    .select({ project_id, day, slot, seq, stats, stats_seq })
    .from(partitions)
    .where(where)
    .orderBy(asc(project_id), asc(day), asc(slot))
    .limit(PAGE_ROWS);
}

/** Matches the partitions after one, in the order of the primary key. */
function isAfter(last: PartitionKey): SQL {
  const { project_id, day, slot } = partitions;
  return sql`(${project_id}, ${day}, ${slot}) > (${last.project_id}, ${last.day}, ${last.slot})`;
}

/** Reads totals from the catalogue when they are of the newest sequence that it knows, else from the object. */
async function totalsOf(ctx: Context, { seq, stats, stats_seq, ...partition }: PartitionRow) {
  if (stats !== null && stats_seq === seq) return stats;
  return tracePartition(ctx.env, partition).getTraceTotals();
}

type Sum = { totals: RunTotals; feedback: FeedbackTotals[] };

function newSum(): Sum {
  return { totals: new RunTotals(TIMES), feedback: [] };
}

function addTo(sum: Sum | undefined, { totals, feedback }: TraceTotals): void {
  sum?.totals.merge(totals);
  sum?.feedback.push(...feedback);
}
