import { and, asc, desc, eq, inArray, isNull, lte, or, type SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import type { ActiveRevision } from "../../../control-plane/deployments/api/service.ts";
import type { Context, Database } from "../../../shared/context.ts";
import type { Filters } from "../../../shared/filters.ts";
import { deleteSome, isUniqueViolation } from "../../../shared/storage/sql.ts";
import { contains, fulfils } from "../containment.ts";
import { assistant_versions, assistants } from "../directory/table.ts";
import type {
  AssistantCount,
  AssistantSearch,
  AssistantVersionsQuery,
} from "./assistant-schema.ts";

export type AssistantRow = typeof assistants.$inferSelect;
export type VersionRow = typeof assistant_versions.$inferSelect;

type Deployment = Pick<ActiveRevision, "deployment_id" | "graphs">;

type Owner = Pick<AssistantRow, "deployment_id" | "workspace_id">;

function ownerAt({ caller }: Context, { deployment_id }: Deployment): Owner {
  return { deployment_id, workspace_id: caller.workspace_id };
}

function isOf({ deployment_id, workspace_id }: Owner, assistant_id: string) {
  return and(
    eq(assistants.deployment_id, deployment_id),
    eq(assistants.workspace_id, workspace_id),
    eq(assistants.assistant_id, assistant_id),
  );
}

function isVersionOf({ deployment_id, workspace_id }: Owner, assistant_id: string) {
  return and(
    eq(assistant_versions.deployment_id, deployment_id),
    eq(assistant_versions.workspace_id, workspace_id),
    eq(assistant_versions.assistant_id, assistant_id),
  );
}

export async function findAssistantRow(
  ctx: Context,
  deployment: Deployment,
  assistant_id: string,
  filters: Filters | null = null,
): Promise<AssistantRow | null> {
  const [row] = await ctx.db
    .select()
    .from(assistants)
    .where(
      and(
        isOf(ownerAt(ctx, deployment), assistant_id),
        isNull(assistants.deleted_at),
        fulfils(assistants.metadata, filters),
      ),
    );
  return row ?? null;
}

export async function searchRows(
  ctx: Context,
  deployment: Deployment,
  query: AssistantSearch,
  filters: Filters | null,
): Promise<AssistantRow[]> {
  const { limit, offset, sort_by = "created_at", sort_order = "desc" } = query;
  const order = sort_order === "asc" ? asc : desc;
  return ctx.db
    .select()
    .from(assistants)
    .where(and(matches(ctx, deployment, query), fulfils(assistants.metadata, filters)))
    .orderBy(order(assistants[sort_by]), order(assistants.assistant_id))
    .limit(limit + 1)
    .offset(offset);
}

export async function countRows(
  ctx: Context,
  deployment: Deployment,
  query: AssistantCount,
  filters: Filters | null,
) {
  const [row] = await ctx.db
    .select({ count: sql<number>`count(*)` })
    .from(assistants)
    .where(and(matches(ctx, deployment, query), fulfils(assistants.metadata, filters)));
  return row?.count ?? 0;
}

/** Hides system assistants of graphs that the revision does not have. */
function matches(
  ctx: Context,
  deployment: Deployment,
  { graph_id, name, metadata }: AssistantCount,
) {
  const conditions: (SQL | undefined)[] = [
    eq(assistants.deployment_id, deployment.deployment_id),
    eq(assistants.workspace_id, ctx.caller.workspace_id),
    isNull(assistants.deleted_at),
    or(eq(assistants.is_system, false), inArray(assistants.graph_id, deployment.graphs)),
    graph_id === undefined ? undefined : eq(assistants.graph_id, graph_id),
    name === undefined ? undefined : sql`instr(lower(${assistants.name}), lower(${name})) > 0`,
    metadata === undefined ? undefined : contains(assistants.metadata, metadata),
  ];
  return and(...conditions);
}

export async function findVersions(
  ctx: Context,
  deployment: Deployment,
  assistant_id: string,
  { limit, offset, metadata }: AssistantVersionsQuery,
): Promise<VersionRow[]> {
  return ctx.db
    .select()
    .from(assistant_versions)
    .where(
      and(
        isVersionOf(ownerAt(ctx, deployment), assistant_id),
        metadata === undefined ? undefined : contains(assistant_versions.metadata, metadata),
      ),
    )
    .orderBy(desc(assistant_versions.version))
    .limit(limit)
    .offset(offset);
}

export async function findVersion(
  ctx: Context,
  deployment: Deployment,
  assistant_id: string,
  version: number,
): Promise<VersionRow | null> {
  const [row] = await ctx.db
    .select()
    .from(assistant_versions)
    .where(
      and(
        isVersionOf(ownerAt(ctx, deployment), assistant_id),
        eq(assistant_versions.version, version),
      ),
    );
  return row ?? null;
}

export async function greatestVersion(ctx: Context, deployment: Deployment, assistant_id: string) {
  const [row] = await ctx.db
    .select({ version: sql<number | null>`max(${assistant_versions.version})` })
    .from(assistant_versions)
    .where(isVersionOf(ownerAt(ctx, deployment), assistant_id));
  return row?.version ?? 0;
}

function toVersionRow(row: AssistantRow): VersionRow {
  const { is_system: _s, deleted_at: _d, purge_at: _p, updated_at: created_at, ...version } = row;
  return { ...version, created_at };
}

/** @returns `false` when the id exists */
export async function insertAssistant(ctx: Context, row: AssistantRow): Promise<boolean> {
  const { db } = ctx;
  try {
    await db.batch([
      db.insert(assistants).values(row),
      db.insert(assistant_versions).values(toVersionRow(row)),
    ]);
    return true;
  } catch (error) {
    if (isUniqueViolation(error, "assistant")) return false;
    throw error;
  }
}

/** Inserts the missing rows. */
export async function insertSystemAssistants(db: Database, rows: AssistantRow[]): Promise<void> {
  const statements = rows.flatMap((row) => [
    db.insert(assistants).values(row).onConflictDoNothing(),
    db.insert(assistant_versions).values(toVersionRow(row)).onConflictDoNothing(),
  ]);
  await batch(db, statements);
}

/** @returns `false` when a concurrent update created the same version */
export async function insertVersion(ctx: Context, row: AssistantRow): Promise<boolean> {
  const { db } = ctx;
  try {
    await db.batch([db.insert(assistant_versions).values(toVersionRow(row)), updateOf(db, row)]);
    return true;
  } catch (error) {
    if (isUniqueViolation(error, "assistant_versions")) return false;
    throw error;
  }
}

export async function updateRow(ctx: Context, row: AssistantRow): Promise<void> {
  await updateOf(ctx.db, row);
}

function updateOf(db: Database, row: AssistantRow) {
  const { version, graph_id, name, description, config, context, metadata, updated_at } = row;
  const shown = { version, graph_id, name, description, config, context, metadata, updated_at };
  return db.update(assistants).set(shown).where(isOf(row, row.assistant_id));
}

/** Hides the assistant. A purge deletes its threads, then its rows. */
export async function markDeleted(ctx: Context, row: AssistantRow, at: string): Promise<void> {
  await ctx.db
    .update(assistants)
    .set({ purge_at: at, ...(row.is_system ? {} : { deleted_at: at }) })
    .where(isOf(row, row.assistant_id));
}

/** Deletes the rows of an assistant. `fresh` recreates a system assistant. */
export async function deleteRows(db: Database, row: AssistantRow, fresh: AssistantRow | null) {
  await batch(db, [
    db.delete(assistant_versions).where(isVersionOf(row, row.assistant_id)),
    db.delete(assistants).where(isOf(row, row.assistant_id)),
    ...(fresh
      ? [
          db.insert(assistants).values(fresh),
          db.insert(assistant_versions).values(toVersionRow(fresh)),
        ]
      : []),
  ]);
}

export async function endPurge(db: Database, row: AssistantRow): Promise<void> {
  if (row.deleted_at !== null) return deleteRows(db, row, null);
  await db.update(assistants).set({ purge_at: null }).where(isOf(row, row.assistant_id));
}

export async function unfinishedPurges(db: Database, now: string, limit: number) {
  return db
    .select()
    .from(assistants)
    .where(lte(assistants.purge_at, now))
    .orderBy(assistants.purge_at)
    .limit(limit);
}

export async function deleteSomeOf(db: Database, deployment_id: string, limit: number) {
  const isOfVersions = eq(assistant_versions.deployment_id, deployment_id);
  if (!(await deleteSome(db, assistant_versions, isOfVersions, limit))) return false;
  return deleteSome(db, assistants, eq(assistants.deployment_id, deployment_id), limit);
}

async function batch(db: Database, statements: BatchItem<"sqlite">[]): Promise<void> {
  const [first, ...rest] = statements;
  if (first) await db.batch([first, ...rest]);
}
