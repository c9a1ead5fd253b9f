import { and, eq, lt } from "drizzle-orm";
import { database } from "../shared/context.ts";
import type { Counts } from "./storage/counts.ts";
import { partitions } from "./table.ts";

type Place = { project_id: string; day: string; slot: number };

/** Written twice it says the same, and an older count never takes the place of a newer one. */
export async function writeCounts(
  env: Env,
  { project_id, day, slot }: Place,
  counts: Counts,
  bytes: number,
): Promise<void> {
  await database(env)
    .update(partitions)
    .set({ ...counts, bytes, updated_at: new Date().toISOString() })
    .where(
      and(
        eq(partitions.project_id, project_id),
        eq(partitions.day, day),
        eq(partitions.slot, slot),
        lt(partitions.seq, counts.seq),
      ),
    );
}
