import { and, eq, lte } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import type { PartitionKey } from "../changes.ts";
import type { CatalogueCounts } from "../storage/counts.ts";
import type { TraceTotals } from "../storage/stats.ts";
import { partitions } from "./table.ts";

/** Idempotent: an older count never overwrites a newer one. */
export async function writeCounts(
  env: Env,
  { project_id, day, slot }: PartitionKey,
  counts: CatalogueCounts & { bytes: number; roots: number },
  stats: TraceTotals | null,
): Promise<void> {
  const summary = stats === null ? {} : { stats, stats_seq: counts.seq };
  await database(env)
    .update(partitions)
    .set({ ...counts, ...summary, updated_at: new Date().toISOString() })
    .where(
      and(
        eq(partitions.project_id, project_id),
        eq(partitions.day, day),
        eq(partitions.slot, slot),
        lte(partitions.seq, counts.seq),
      ),
    );
}
