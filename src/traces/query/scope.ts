import { and, eq, sql } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { invalid } from "../../shared/errors.ts";
import { among } from "../../shared/storage/sql.ts";
import { DAY_US, dayOf, toMicros } from "../../shared/times.ts";
import { areLive, dayOfId, findPartitions } from "../catalogue/catalogue.ts";
import { resolveProject } from "../catalogue/projects.ts";
import { partitions, projects } from "../catalogue/table.ts";
import type { PartitionKey } from "../changes.ts";
import { findHomes } from "../ingest/placement.ts";

export type Scope = {
  ids: string[] | null;
  session: string[] | null;
  trace: string | null;
  parent_run: string | null;
  reference_example: string[] | null;
  min_start_us: number | null;
  max_start_us: number | null;
};

/** Partition, and a range that contains the start of each of its runs: the partition's day, or more. */
export type PartitionRange = { partition: PartitionKey; from_us: number; to_us: number };

/** Returns the partitions in scope, in groups that do not overlap in time, in the order of the query. */
export async function partitionsInScope(
  ctx: Context,
  scope: Scope,
  order: "asc" | "desc",
): Promise<PartitionRange[][]> {
  if (scope.ids !== null) return partitionsOfRuns(ctx, scope.ids, scope.session);
  const ids = await projectsInScope(ctx, scope);
  if (ids !== null && ids.length === 0) return [];
  const { min_start_us, max_start_us } = scope;
  const rows = await ctx.db
    .select({ partition: partitions })
    .from(partitions)
    .innerJoin(projects, eq(projects.id, partitions.project_id))
    .where(
      and(
        areLive(ctx),
        ids === null ? undefined : among(partitions.project_id, ids),
        min_start_us === null
          ? undefined
          : sql`(${partitions.day} >= ${dayOf(min_start_us)} or ${partitions.max_start_us} >= ${min_start_us})`,
        max_start_us === null
          ? undefined
          : sql`(${partitions.day} <= ${dayOf(max_start_us)} or ${partitions.min_start_us} <= ${max_start_us})`,
      ),
    );
  return grouped(
    rows.map(({ partition }) => ranged(partition)),
    order,
  );
}

/** Returns the partitions of runs as one group, because they may overlap. */
async function partitionsOfRuns(
  ctx: Context,
  ids: string[],
  session: string[] | null,
): Promise<PartitionRange[][]> {
  for (const id of session ?? []) await resolveProject(ctx, id);
  const located = await findPartitions(ctx, ids);
  const group = located
    .map(({ partition }) => ({ partition, from_us: -Infinity, to_us: Infinity }))
    .filter(({ partition }) => session === null || session.includes(partition.project_id));
  return group.length === 0 ? [] : [group];
}

/** @returns the ids of the projects, `null` for all projects of the workspace */
async function projectsInScope(ctx: Context, scope: Scope): Promise<string[] | null> {
  const { session, trace, parent_run, reference_example } = scope;
  if (session !== null) {
    for (const id of session) await resolveProject(ctx, id);
    return session;
  }
  const run_id = trace ?? parent_run;
  if (run_id !== null) {
    const home = (await findHomes(ctx, [{ id: run_id }])).get(run_id);
    if (home) return [home.project_id];
    // A run whose id has no time has a home once it is stored: without a home, no project is searched. A root whose id
    // has a time may arrive after its children, so all projects are searched.
    return dayOfId(run_id) === null ? [] : null;
  }
  if (reference_example !== null) return null;
  const text = "required: at least one of session, id, trace, parent_run, reference_example";
  throw invalid(["body", "session"], text);
}

type PartitionRow = typeof partitions.$inferSelect;

function ranged({
  project_id,
  day,
  slot,
  min_start_us,
  max_start_us,
}: PartitionRow): PartitionRange {
  const midnight = toMicros(`${day}T00:00:00Z`) ?? 0;
  return {
    partition: { project_id, day, slot },
    from_us: Math.min(midnight, min_start_us ?? midnight),
    to_us: Math.max(midnight + DAY_US - 1, max_start_us ?? midnight),
  };
}

function grouped(keys: PartitionRange[], order: "asc" | "desc"): PartitionRange[][] {
  const groups: { to_us: number; keys: PartitionRange[] }[] = [];
  for (const one of keys.sort((a, b) => a.from_us - b.from_us)) {
    const last = groups.at(-1);
    if (last && one.from_us <= last.to_us) {
      last.keys.push(one);
      last.to_us = Math.max(last.to_us, one.to_us);
    } else {
      groups.push({ to_us: one.to_us, keys: [one] });
    }
  }
  const lists = groups.map((group) => group.keys);
  return order === "asc" ? lists : lists.reverse();
}
