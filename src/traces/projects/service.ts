import { and, asc, desc, eq, isNull, sql } from "drizzle-orm";
import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { AppError, notFound } from "../../shared/errors.ts";
import { contains } from "../../shared/storage/containment.ts";
import { containsText } from "../../shared/storage/letter-case.ts";
import { among, isUniqueViolation } from "../../shared/storage/sql.ts";
import { nowMicros, toIso, toMicros } from "../../shared/times.ts";
import {
  assertNotHeld,
  COUNTS,
  clearProjectCache,
  findProject,
  idOfName,
  isOwnProject,
  newProject,
  type ProjectRow,
} from "../catalogue/projects.ts";
import { projects } from "../catalogue/table.ts";
import { sendProjectDeletions } from "../messages.ts";
import { assertTraceRate } from "../rates.ts";
import type { TraceStats } from "../stats/trace-stats-schema.ts";
import { statsFor } from "./project-stats.ts";
import {
  Project,
  type ProjectCreateRequest,
  type ProjectQuery,
  type ProjectsQuery,
  type ProjectUpdateRequest,
} from "./schema.ts";

export async function createProject(
  ctx: Context,
  { id, name, ...fields }: ProjectCreateRequest,
  upsert: boolean,
): Promise<Project> {
  assertMay(ctx, "write");
  const { workspace_id } = ctx.caller;
  const row = newProject(workspace_id, name);
  const values: ProjectRow = {
    ...row,
    ...(id ? { id } : {}),
    ...toStored(fields),
    ...toSampling(fields.sampling_rate),
  };
  const [made] = await ctx.db.insert(projects).values(values).onConflictDoNothing().returning();
  if (made) return toProject(made);
  const existing = await idOfName(ctx.db, workspace_id, name);
  if (existing === null)
    throw new AppError("conflict", `A project with the id ${id} exists: choose another id.`);
  if (!upsert) {
    const text = `A project named "${name}" exists already: choose another name, or send upsert=true.`;
    throw new AppError("conflict", text);
  }
  const { start_time: _, ...changed } = fields;
  return updateProject(ctx, existing, withoutNulls(changed));
}

export async function getProject(
  ctx: Context,
  project_id: string,
  query: Partial<ProjectQuery> = {},
): Promise<Project> {
  assertMay(ctx, "read");
  const [found] = await selectProjects(ctx).where(
    and(eq(projects.id, project_id), isOwnProject(ctx)),
  );
  if (!found) throw notFound("Project", project_id);
  const stats = await statsFor(ctx, [project_id], query);
  return toProject(found.project, found, stats.get(project_id));
}

/** @throws AppError 404 when the project is not in the workspace */
export async function assertProject(ctx: Context, project_id: string): Promise<void> {
  assertMay(ctx, "read");
  await findProject(ctx, project_id);
}

export async function listProjects(ctx: Context, query: ProjectsQuery): Promise<Project[]> {
  assertMay(ctx, "read");
  const { id, name, name_contains, limit, offset } = query;
  const { metadata, reference_dataset, reference_free } = query;
  const rows = await selectProjects(ctx)
    .where(
      and(
        isOwnProject(ctx),
        id && among(projects.id, id),
        name === undefined ? undefined : eq(projects.name, name),
        name_contains === undefined ? undefined : containsText(projects.name, name_contains),
        metadata && contains(sql`${projects.extra} -> '$.metadata'`, metadata),
        reference_dataset === undefined
          ? undefined
          : eq(projects.reference_dataset_id, reference_dataset),
        reference_free ? isNull(projects.reference_dataset_id) : undefined,
      ),
    )
    .orderBy(desc(projects.start_time), asc(projects.id))
    .limit(limit)
    .offset(offset);
  const stats = await statsFor(
    ctx,
    rows.map(({ project }) => project.id),
    query,
  );
  return rows.map(({ project, ...counts }) => toProject(project, counts, stats.get(project.id)));
}

/**
 * Does not change fields that are `null`: SDKs send `null` for each field that their caller omits. `trace_tier`,
 * `sampling_rate` and `redactions` are different. SDKs omit these, so `null` removes the project's own setting.
 */
export async function updateProject(
  ctx: Context,
  project_id: string,
  change: ProjectUpdateRequest,
): Promise<Project> {
  const { legal_hold: hold, ...fields } = change;
  assertMay(ctx, hold == null ? "write" : "delete");
  const before = await findProject(ctx, project_id);
  const now = new Date().toISOString();
  await ctx.db
    .update(projects)
    .set({
      ...toStored(fields),
      ...(hold != null && {
        held_since: hold ? sql`coalesce(${projects.held_since}, ${now})` : null,
      }),
      ...(change.trace_tier === null ? { trace_tier: null } : {}),
      ...(change.sampling_rate !== before.sampling_rate && toSampling(change.sampling_rate)),
      ...(change.redactions === null ? { redactions: null } : {}),
      updated_at: now,
    })
    .where(and(eq(projects.id, project_id), isOwnProject(ctx)))
    .catch((error: unknown) => {
      if (!isUniqueViolation(error, "projects.name")) throw error;
      const text = `A project named "${change.name}" exists already: choose another name.`;
      throw new AppError("conflict", text);
    });
  clearProjectCache();
  return getProject(ctx, project_id);
}

/** Hides the project at once; its data is deleted in the background. */
export async function deleteProject(
  ctx: Context,
  project_id: string,
): Promise<{ message: string }> {
  assertMay(ctx, "delete");
  assertTraceRate(ctx, "delete_project");
  await findProject(ctx, project_id);
  const now = new Date().toISOString();
  const [deleted] = await ctx.db
    .update(projects)
    .set({ deleted_at: now, sent_at: now, updated_at: now })
    .where(and(eq(projects.id, project_id), isOwnProject(ctx), isNull(projects.held_since)))
    .returning({ id: projects.id });
  if (!deleted) await assertNotHeld(ctx, [project_id]);
  clearProjectCache();
  await sendProjectDeletions(ctx.env, [{ id: project_id, sent_at: now }]);
  return { message: "Project deleted." };
}

function selectProjects(ctx: Context) {
  return ctx.db
    .select({ project: projects, ...COUNTS })
    .from(projects)
    .$dynamic();
}

type Counts = { last_start_us: number | null; run_count: number };

function toProject(
  row: ProjectRow,
  { last_start_us, run_count }: Counts = { last_start_us: null, run_count: 0 },
  stats?: TraceStats,
): Project {
  return Project.parse({
    ...row,
    legal_hold: row.held_since !== null,
    tenant_id: row.workspace_id,
    last_run_start_time: last_start_us === null ? null : toIso(last_start_us),
    run_count,
    ...stats,
  });
}

type Times = { start_time?: string | null | undefined; end_time?: string | null | undefined };

/** Returns the fields as their columns hold them. Times have one format, so that their texts sort by time. */
function toStored<T extends Times>(fields: T) {
  const { start_time, end_time } = fields;
  return {
    ...withoutNulls(fields),
    ...(start_time != null && { start_time: toTimeText(start_time) }),
    ...(end_time != null && { end_time: toTimeText(end_time) }),
  };
}

/** Applies a rate to traces that begin from now on: traces that have begun stay whole. */
function toSampling(rate: number | null | undefined) {
  if (rate === undefined) return {};
  return { sampling_rate: rate, sampled_since: rate === null ? null : toIso(nowMicros()) };
}

function toTimeText(time: string): string {
  const micros = toMicros(time);
  return micros === null ? time : toIso(micros);
}

function withoutNulls<T extends object>(fields: T) {
  const entries = Object.entries(fields).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}
