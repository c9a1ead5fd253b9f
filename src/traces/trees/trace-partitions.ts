import { and, eq, sql } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { DAY_US, dayOf, nowMicros, toMicros } from "../../shared/times.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import { dayOfId, livePartitions } from "../catalogue/catalogue.ts";
import { partitions } from "../catalogue/table.ts";
import type { Home, PartitionKey } from "../changes.ts";
import { mayHave } from "../locations/generations.ts";
import { tracePartition } from "../object/stub.ts";

/** Maximum number of days after the root's day that are searched for runs of a trace. */
const MAX_DAYS = 31;
const AT_ONCE = 25;

/**
 * Returns the partitions from the day before the root until the day after its end, or until tomorrow while it is
 * pending. Searches at most `MAX_DAYS` days after the root.
 * @param home `null` while the root is not stored: reads all projects around the day in the id, none without such a day
 */
export async function partitionsOfTrace(
  ctx: Context,
  trace_id: string,
  home: Home | null,
): Promise<PartitionKey[]> {
  const day = home?.day ?? dayOfId(trace_id);
  if (day === null) return [];
  const midnight = toMicros(`${day}T00:00:00Z`) ?? 0;
  const end_us = home === null ? null : await endOf(ctx, trace_id, home);
  const last_us = Math.min((end_us ?? nowMicros()) + DAY_US, midnight + MAX_DAYS * DAY_US);
  const isNear = sql`${partitions.day} between ${dayOf(midnight - DAY_US)} and ${dayOf(last_us)}`;
  const isOurs = home === null ? undefined : eq(partitions.project_id, home.project_id);
  return livePartitions(ctx, and(isOurs, isNear));
}

async function endOf(ctx: Context, trace_id: string, home: Home): Promise<number | null> {
  const isHome = and(eq(partitions.project_id, home.project_id), eq(partitions.day, home.day));
  const keys = await livePartitions(ctx, isHome);
  const own = keys.filter(({ slot }) => mayHave(slot, trace_id));
  const reads = await mapConcurrent(own, AT_ONCE, (partition) =>
    tracePartition(ctx.env, partition).getRuns([trace_id], ["id", "end_us"]),
  );
  return reads.flatMap(({ runs }) => runs)[0]?.end_us ?? null;
}
