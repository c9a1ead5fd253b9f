import { and, eq, isNull, type SQL } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { among, inWorkspace } from "../../shared/storage/sql.ts";
import { dayOf, timeOfId } from "../../shared/times.ts";
import type { Home, PartitionKey } from "../changes.ts";
import { findLocations, type LocatedHomes } from "../locations/locations.ts";
import { partitions, projects } from "./table.ts";

/**
 * Returns the partitions that can contain the runs, each with the ids to look up in it. A run with locations can be in
 * their partitions, any other run in those of all projects on the day in its id.
 * @param known locations of the ids. They are read when the parameter is omitted
 */
export async function findPartitions(
  ctx: Context,
  ids: string[],
  known?: Map<string, LocatedHomes>,
): Promise<{ partition: PartitionKey; ids: string[] }[]> {
  const located = known ?? (await findLocations(ctx, ids));
  const days = new Map<string, Set<string>>();
  for (const id of ids) {
    for (const day of located.get(id)?.homes.map((home) => home.day) ?? [dayOfId(id)]) {
      if (day !== null) days.set(day, (days.get(day) ?? new Set()).add(id));
    }
  }
  const keys = await partitionsOn(ctx, [...days.keys()]);
  return keys.flatMap((partition) => {
    const here = [...(days.get(partition.day) ?? [])].filter((id) => {
      const homes = located.get(id)?.homes;
      return homes === undefined || homes.some((home) => isIn(partition, home));
    });
    return here.length === 0 ? [] : [{ partition, ids: here }];
  });
}

function isIn(partition: PartitionKey, { project_id, day }: Home): boolean {
  return partition.project_id === project_id && partition.day === day;
}

export function dayOfId(id: string): string | null {
  const micros = timeOfId(id);
  return micros === null ? null : dayOf(micros);
}

/** Values of a partition's row once its runs are deleted. */
export const EMPTY_PARTITION = {
  ...{ rows: 0, roots: 0, min_start_us: null, max_start_us: null },
  ...{ stats: null, stats_seq: null },
};

/** Matches the row of a partition. */
export function isPartition({ project_id, day, slot }: PartitionKey): SQL | undefined {
  return and(
    eq(partitions.project_id, project_id),
    eq(partitions.day, day),
    eq(partitions.slot, slot),
  );
}

export async function partitionsOn(ctx: Context, days: string[]): Promise<PartitionKey[]> {
  return days.length === 0 ? [] : livePartitions(ctx, among(partitions.day, days));
}

/** Returns partitions of the workspace, without those of projects that are being deleted. */
export function livePartitions(ctx: Context, where: SQL | undefined) {
  return ctx.db
    .select({ project_id: partitions.project_id, day: partitions.day, slot: partitions.slot })
    .from(partitions)
    .innerJoin(projects, eq(projects.id, partitions.project_id))
    .where(and(areLive(ctx), where));
}

/** Matches partitions of the workspace whose project is not deleted. The statement must join `projects`. */
export function areLive({ caller }: Pick<Context, "caller">): SQL | undefined {
  return and(inWorkspace({ caller }, partitions), isNull(projects.deleted_at));
}
