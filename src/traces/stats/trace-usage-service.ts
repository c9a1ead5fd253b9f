import { and, between, sql } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { inWorkspace } from "../../shared/storage/sql.ts";
import { partitions } from "../catalogue/table.ts";

type DayRange = { from: string; to: string };
type TraceUsage = { traces: number; spans: number; trace_bytes: number };

/** Returns the stored root runs, runs and bytes of each UTC day that has a partition. */
export async function listTraceUsage(
  { db, caller }: Context,
  { from, to }: DayRange,
): Promise<Map<string, TraceUsage>> {
  const days = await db
    .select({
      day: partitions.day,
      traces: sql<number>`sum(${partitions.roots})`,
      spans: sql<number>`sum(${partitions.rows})`,
      trace_bytes: sql<number>`sum(${partitions.bytes})`,
    })
    .from(partitions)
    .where(and(inWorkspace({ caller }, partitions), between(partitions.day, from, to)))
    .groupBy(partitions.day);
  return new Map(days.map(({ day, ...usage }) => [day, usage]));
}
