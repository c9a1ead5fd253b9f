import { and, eq, isNull, type SQL, sql } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { among } from "../../shared/storage/sql.ts";
import { dayOf, timeOfId } from "../../shared/times.ts";
import { TtlCache } from "../../shared/work/ttl-cache.ts";
import type { PartitionKey } from "../changes.ts";
import { MAX_PARTITION_BYTES } from "../limits.ts";
import { partitions, projects, run_locations } from "./table.ts";

export type Home = { project_id: string; day: string };
export type Location = Home & { run_id: string };

/** Caches the open slot of each day. */
const slots = new TtlCache<number>(60_000, 5000);

/** Returns the day's newest slot. Inserts the catalogue row before the first run is written. */
export function openSlot(ctx: Context, home: Home): Promise<number> {
  return slots.get(`${home.project_id}/${home.day}`, () => findSlot(ctx, home));
}

async function findSlot(ctx: Context, { project_id, day }: Home): Promise<number> {
  const rows = await ctx.db
    .select({ slot: partitions.slot, bytes: partitions.bytes })
    .from(partitions)
    .where(and(eq(partitions.project_id, project_id), eq(partitions.day, day)));
  const newest = rows.reduce((a, b) => (b.slot > a.slot ? b : a), { slot: -1, bytes: 0 });
  const isFull = newest.slot < 0 || newest.bytes > MAX_PARTITION_BYTES;
  const last = isFull ? newest.slot + 1 : newest.slot;
  if (isFull) await insertPartition(ctx, { project_id, day, slot: last });
  return last;
}

async function insertPartition(ctx: Context, partition: PartitionKey): Promise<void> {
  await ctx.db
    .insert(partitions)
    .values({
      ...partition,
      workspace_id: ctx.caller.workspace_id,
      rows: 0,
      bytes: 0,
      seq: 0,
      min_start_us: null,
      max_start_us: null,
      roots: 0,
      updated_at: new Date().toISOString(),
    })
    .onConflictDoNothing();
}

/** Returns locations of runs whose ids do not contain their day. */
export async function findLocations(ctx: Context, ids: string[]): Promise<Map<string, Home>> {
  if (ids.length === 0) return new Map();
  const rows = await ctx.db
    .select()
    .from(run_locations)
    .where(
      and(
        eq(run_locations.workspace_id, ctx.caller.workspace_id),
        among(run_locations.run_id, ids),
      ),
    );
  return new Map(rows.map(({ run_id, project_id, day }) => [run_id, { project_id, day }]));
}

/**
 * Precedes the write of the runs: a location without a run is harmless, a run without one is lost.
 */
export async function saveLocations(ctx: Context, locations: Location[]): Promise<void> {
  if (locations.length === 0) return;
  const { workspace_id } = ctx.caller;
  const rows = locations.map(({ run_id, project_id, day }) => [run_id, project_id, day]);
  await ctx.db.run(sql`
    insert into run_locations (workspace_id, run_id, project_id, day)
    select ${workspace_id}, value->>0, value->>1, value->>2
    from json_each(${JSON.stringify(rows)}) where true
    on conflict do nothing
  `);
}

/**
 * Returns the partitions that can contain each run: its location, or all projects on the day in its
 * id.
 */
export async function findPartitions(
  ctx: Context,
  ids: string[],
): Promise<{ partition: PartitionKey; ids: string[] }[]> {
  const located = await findLocations(ctx, ids);
  const days = new Map<string, string[]>();
  for (const id of ids) {
    const day = located.get(id)?.day ?? dayOfId(id);
    if (day !== null) days.set(day, [...(days.get(day) ?? []), id]);
  }
  const keys = await partitionsOn(ctx, [...days.keys()]);
  return keys.flatMap((partition) => {
    const here = (days.get(partition.day) ?? []).filter((id) => {
      const home = located.get(id);
      return home === undefined || home.project_id === partition.project_id;
    });
    return here.length === 0 ? [] : [{ partition, ids: here }];
  });
}

export function dayOfId(id: string): string | null {
  const micros = timeOfId(id);
  return micros === null ? null : dayOf(micros);
}

export async function partitionsOn(ctx: Context, days: string[]): Promise<PartitionKey[]> {
  return days.length === 0 ? [] : livePartitions(ctx, among(partitions.day, days));
}

/** Returns partitions of the workspace, without projects that are being deleted. */
export function livePartitions(ctx: Context, where: SQL | undefined) {
  return ctx.db
    .select({ project_id: partitions.project_id, day: partitions.day, slot: partitions.slot })
    .from(partitions)
    .innerJoin(projects, eq(projects.id, partitions.project_id))
    .where(and(areLive(ctx), where));
}

/** Condition on partitions joined with their projects. */
export function areLive({ caller }: Pick<Context, "caller">): SQL | undefined {
  return and(eq(partitions.workspace_id, caller.workspace_id), isNull(projects.deleted_at));
}
