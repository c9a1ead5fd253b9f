import { and, desc, gte } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { among, inWorkspace } from "../../shared/storage/sql.ts";
import { dayOf, nowMicros, toMicros } from "../../shared/times.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import type { FeedbackTotals } from "../aggregates/feedback-totals.ts";
import type { TraceTotals } from "../aggregates/stats.ts";
import { partitions } from "../catalogue/table.ts";
import { tracePartition } from "../object/stub.ts";
import { toTraceStats } from "../stats/run-stats.ts";
import type { TraceStats } from "../stats/trace-stats-schema.ts";
import { RunTotals, TIMES } from "../totals.ts";
import type { ProjectQuery } from "./schema.ts";

const WEEK_US = 7 * 86_400_000_000;
/** Maximum number of partitions that statistics read: those of the newest days. */
const MAX_PARTITIONS = 1000;
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
  const rows = await selectPartitions(ctx, ids, first === null ? null : dayOf(first));
  const sums = new Map(ids.map((id) => [id, newSum()]));
  await mapConcurrent(rows, AT_ONCE, async (row) => {
    addTo(sums.get(row.project_id), await totalsOf(ctx, row));
  });
  return new Map(
    [...sums].map(([id, { totals, feedback }]) => [id, toTraceStats(totals, feedback)]),
  );
}

type PartitionRow = Awaited<ReturnType<typeof selectPartitions>>[number];

function selectPartitions(ctx: Context, ids: string[], first_day: string | null) {
  const { project_id, day, slot, seq, stats, stats_seq } = partitions;
  return ctx.db
    .select({ project_id, day, slot, seq, stats, stats_seq })
    .from(partitions)
    .where(
      and(
        inWorkspace(ctx, partitions),
        among(project_id, ids),
        first_day === null ? undefined : gte(day, first_day),
      ),
    )
    .orderBy(desc(day))
    .limit(MAX_PARTITIONS);
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
