import { and, eq, isNull, lte, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import type { ActiveRevision } from "../../../../control-plane/deployments/api/service.ts";
import type { Context, Database } from "../../../../shared/context.ts";
import type { Filters } from "../../../../shared/filters.ts";
import { fulfils } from "../../../../shared/storage/containment.ts";
import { deleteSome, isOrphaned, isUniqueViolation } from "../../../../shared/storage/sql.ts";
import { assistant_versions, assistants } from "./table.ts";

export type AssistantRow = typeof assistants.$inferSelect;
export type VersionRow = typeof assistant_versions.$inferSelect;

/** An assistant belongs to one deployment. */
type AssistantOwner = Pick<AssistantRow, "deployment_id" | "workspace_id">;

export function ownerOf({ caller }: Context, { deployment_id }: ActiveRevision): AssistantOwner {
  return { deployment_id, workspace_id: caller.workspace_id };
}

function isOf({ deployment_id, workspace_id }: AssistantOwner, assistant_id: string) {
  return and(
    eq(assistants.deployment_id, deployment_id),
    eq(assistants.workspace_id, workspace_id),
    eq(assistants.assistant_id, assistant_id),
  );
}

export function isVersionOf({ deployment_id, workspace_id }: AssistantOwner, assistant_id: string) {
  return and(
    eq(assistant_versions.deployment_id, deployment_id),
    eq(assistant_versions.workspace_id, workspace_id),
    eq(assistant_versions.assistant_id, assistant_id),
  );
}

export async function findAssistantRow(
  ctx: Context,
  agent: ActiveRevision,
  assistant_id: string,
  filters: Filters | null = null,
): Promise<AssistantRow | null> {
  const [row] = await ctx.db
    .select()
    .from(assistants)
    .where(
      and(
        isOf(ownerOf(ctx, agent), assistant_id),
        isNull(assistants.deleted_at),
        fulfils(assistants.metadata, filters),
      ),
    );
  return row ?? null;
}

export async function findVersion(
  ctx: Context,
  agent: ActiveRevision,
  assistant_id: string,
  version: number,
): Promise<VersionRow | null> {
  const [row] = await ctx.db
    .select()
    .from(assistant_versions)
    .where(
      and(isVersionOf(ownerOf(ctx, agent), assistant_id), eq(assistant_versions.version, version)),
    );
  return row ?? null;
}

/** Returns the greatest version number of an assistant, 0 when it has no versions. */
export async function greatestVersion(ctx: Context, agent: ActiveRevision, assistant_id: string) {
  const [row] = await ctx.db
    .select({ version: sql<number | null>`max(${assistant_versions.version})` })
    .from(assistant_versions)
    .where(isVersionOf(ownerOf(ctx, agent), assistant_id));
  return row?.version ?? 0;
}

function toVersionRow(row: AssistantRow): VersionRow {
  const { is_system: _s, deleted_at: _d, purge_at: _p, updated_at: created_at, ...version } = row;
  return { ...version, created_at };
}

/** @returns `false` when the deployment has an assistant with the id */
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

/** Inserts the assistants and their first versions, where they are missing. */
export async function insertSystemAssistants(db: Database, rows: AssistantRow[]): Promise<void> {
  const statements = rows.flatMap((row) => [
    db.insert(assistants).values(row).onConflictDoNothing(),
    db.insert(assistant_versions).values(toVersionRow(row)).onConflictDoNothing(),
  ]);
  await batch(db, statements);
}

/** @returns `false` when a concurrent update created the same version, or the assistant was deleted */
export async function insertVersion(ctx: Context, row: AssistantRow): Promise<boolean> {
  const { db } = ctx;
  const isThere = and(isOf(row, row.assistant_id), isNull(assistants.deleted_at));
  // The subquery is NULL once the assistant is deleted, which fails the insert by the NOT NULL constraint.
  const assistant_id = sql`(select ${assistants.assistant_id} from ${assistants} where ${isThere})`;
  try {
    await db.batch([
      db.insert(assistant_versions).values({ ...toVersionRow(row), assistant_id }),
      updateStatement(db, row),
    ]);
    return true;
  } catch (error) {
    if (isUniqueViolation(error, "assistant_versions") || isOrphaned(error)) return false;
    throw error;
  }
}

export async function updateRow(ctx: Context, row: AssistantRow): Promise<void> {
  await updateStatement(ctx.db, row);
}

function updateStatement(db: Database, row: AssistantRow) {
  const { version, graph_id, name, description, config, context, metadata, updated_at } = row;
  const shown = { version, graph_id, name, description, config, context, metadata, updated_at };
  return db.update(assistants).set(shown).where(isOf(row, row.assistant_id));
}

/**
 * Marks the assistant for the deletion of its threads that were created until `at`. Hides the assistant, unless it is a
 * system assistant, which is never deleted.
 */
export async function beginPurge(ctx: Context, row: AssistantRow, at: string): Promise<void> {
  await ctx.db
    .update(assistants)
    .set({ purge_at: at, ...(row.is_system ? {} : { deleted_at: at }) })
    .where(isOf(row, row.assistant_id));
}

/** Deletes the rows of an assistant. `fresh`: the row that recreates a system assistant, else `null`. */
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

/** Ends a purge whose threads are deleted. Deletes the rows of a hidden assistant. */
export async function endPurge(db: Database, row: AssistantRow): Promise<void> {
  if (row.deleted_at !== null) return deleteRows(db, row, null);
  await db.update(assistants).set({ purge_at: null }).where(isOf(row, row.assistant_id));
}

export async function listUnfinishedPurges(db: Database, now: string, limit: number) {
  return db
    .select()
    .from(assistants)
    .where(lte(assistants.purge_at, now))
    .orderBy(assistants.purge_at)
    .limit(limit);
}

/** Deletes some assistants and versions of a deployment. @returns whether all are deleted */
export async function deleteSomeOf(db: Database, deployment_id: string, limit: number) {
  const isOfVersions = eq(assistant_versions.deployment_id, deployment_id);
  if (!(await deleteSome(db, assistant_versions, isOfVersions, limit))) return false;
  return deleteSome(db, assistants, eq(assistants.deployment_id, deployment_id), limit);
}

async function batch(db: Database, statements: BatchItem<"sqlite">[]): Promise<void> {
  const [first, ...rest] = statements;
  if (first) await db.batch([first, ...rest]);
}
