import { and, eq, isNotNull, isNull, sql } from "drizzle-orm";
import type { Context, Database } from "../../shared/context.ts";
import { AppError, notFound, nullIfNotFound } from "../../shared/errors.ts";
import { newId } from "../../shared/storage/ids.ts";
import { among, inWorkspace } from "../../shared/storage/sql.ts";
import { nowMicros, toIso, toMicros } from "../../shared/times.ts";
import { TtlCache } from "../../shared/work/ttl-cache.ts";
import type { TraceTier } from "../changes.ts";
import { defaultTier } from "./retention.ts";
import type { Sampling } from "./sampling.ts";
import { projects, type Redactions, ttl_settings } from "./table.ts";

export type ProjectRow = typeof projects.$inferSelect;

/** Settings of a project that ingestion and reads of its traces need. */
export type ProjectSettings = {
  /** Retention tier of new runs that name none. */
  tier: TraceTier;
  sampling: Sampling | null;
  redactions: Redactions | null;
  /** Whether no trace expires or is deleted. */
  is_held: boolean;
};

/** Time for which names, ids and settings are cached: other isolates see a change about this much later. */
const CACHE_MS = 5000;
const MAX_CACHED = 2000;
const idCache = new TtlCache<string>(CACHE_MS, MAX_CACHED);
const settingsCache = new TtlCache<ProjectSettings>(CACHE_MS, MAX_CACHED);
const DEFAULT_PROJECT = "default";

/** Matches projects of the workspace that are not deleted. */
export function isOwnProject(ctx: Context) {
  return and(inWorkspace(ctx, projects), isNull(projects.deleted_at));
}

export async function findProject(ctx: Context, project_id: string): Promise<ProjectRow> {
  const [row] = await ctx.db
    .select()
    .from(projects)
    .where(and(eq(projects.id, project_id), isOwnProject(ctx)));
  if (!row) throw notFound("Project", project_id);
  return row;
}

/** Returns the id itself. @throws AppError 404 unless it is that of a project in the workspace */
export function resolveProject(ctx: Context, project_id: string): Promise<string> {
  const key = `${ctx.caller.workspace_id}/id/${project_id}`;
  return idCache.get(key, async () => (await findProject(ctx, project_id)).id);
}

/** Returns the ids that are projects of the workspace. Reads several ids with one statement. */
export async function knownProjects(ctx: Context, ids: string[]): Promise<Set<string>> {
  const [first, ...others] = ids;
  if (first === undefined) return new Set();
  if (others.length === 0) {
    const id = await nullIfNotFound(resolveProject(ctx, first));
    return new Set(id === null ? [] : [id]);
  }
  const rows = await ctx.db
    .select({ id: projects.id })
    .from(projects)
    .where(and(among(projects.id, ids), isOwnProject(ctx)));
  return new Set(rows.map(({ id }) => id));
}

export function settingsOfProject(ctx: Context, project_id: string): Promise<ProjectSettings> {
  return settingsCache.get(`${ctx.caller.workspace_id}/${project_id}`, async () => {
    const [found] = await ctx.db
      .select({
        own: projects.trace_tier,
        workspaces: ttl_settings.default_trace_tier,
        rate: projects.sampling_rate,
        since: projects.sampled_since,
        redactions: projects.redactions,
        held_since: projects.held_since,
      })
      .from(projects)
      .leftJoin(ttl_settings, eq(ttl_settings.workspace_id, projects.workspace_id))
      .where(and(eq(projects.id, project_id), isOwnProject(ctx)));
    if (!found) throw notFound("Project", project_id);
    const { own, workspaces, rate, since, redactions, held_since } = found;
    return {
      redactions,
      is_held: held_since !== null,
      tier: own ?? workspaces ?? defaultTier(ctx.env),
      sampling: rate === null || since === null ? null : { rate, since_us: toMicros(since) ?? 0 },
    };
  });
}

/** @throws AppError 409 when one of the projects is on legal hold */
export async function assertNotHeld(ctx: Context, project_ids: readonly string[]): Promise<void> {
  const [held] = await ctx.db
    .select({ id: projects.id, name: projects.name })
    .from(projects)
    .where(and(among(projects.id, project_ids), isNotNull(projects.held_since), isOwnProject(ctx)))
    .limit(1);
  if (!held) return;
  const text = `The project "${held.name}" is on legal hold, and nothing of it is deleted: an admin ends the hold by PATCH /api/v1/sessions/${held.id} with {"legal_hold": false}.`;
  throw new AppError("conflict", text);
}

/** Returns the id of the named project, which it creates when missing. Without a name, it is the project `default`. */
export function projectByName(ctx: Context, name: string | null): Promise<string> {
  const wanted = name === null || name.trim() === "" ? DEFAULT_PROJECT : name.trim();
  const { workspace_id } = ctx.caller;
  return idCache.get(`${workspace_id}/name/${wanted}`, async () => {
    const found = await idOfName(ctx.db, workspace_id, wanted);
    if (found !== null) return found;
    await ctx.db.insert(projects).values(newProject(workspace_id, wanted)).onConflictDoNothing();
    const made = await idOfName(ctx.db, workspace_id, wanted);
    if (made === null) throw notFound("Project", wanted);
    return made;
  });
}

export function newProject(workspace_id: string, name: string): ProjectRow {
  const now = toIso(nowMicros());
  return {
    id: newId(),
    workspace_id,
    name,
    description: null,
    extra: null,
    start_time: now,
    end_time: null,
    default_dataset_id: null,
    reference_dataset_id: null,
    trace_tier: null,
    sampling_rate: null,
    sampled_since: null,
    held_since: null,
    redactions: null,
    created_at: now,
    updated_at: now,
    deleted_at: null,
    sent_at: null,
  };
}

/** Forgets the names of projects that were found to be deleted. */
export function forgetProjects(ids: ReadonlySet<string>): void {
  idCache.forget((_key, id) => ids.has(id));
}

export function clearProjectCache(): void {
  idCache.forget();
  settingsCache.forget();
}

export async function idOfName(
  db: Database,
  workspace_id: string,
  name: string,
): Promise<string | null> {
  const [row] = await db
    .select({ id: projects.id })
    .from(projects)
    .where(
      and(
        eq(projects.workspace_id, workspace_id),
        eq(projects.name, name),
        isNull(projects.deleted_at),
      ),
    );
  return row?.id ?? null;
}

/** Columns of a project that are computed from all of its partitions. */
export const COUNTS = {
  last_start_us: sql<number | null>`(select max(max_start_us) from partitions
    where partitions.project_id = ${projects.id})`,
  run_count: sql<number>`(select coalesce(sum(roots), 0) from partitions
    where partitions.project_id = ${projects.id})`,
};
