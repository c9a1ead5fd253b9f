import { asc } from "drizzle-orm";
import { type Action, assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { AppError, invalid, notFound } from "../../../shared/errors.ts";
import { newId } from "../../../shared/storage/ids.ts";
import { inWorkspace, isUniqueViolation, ownRow } from "../../../shared/storage/sql.ts";
import { listeners } from "../table.ts";
import {
  Listener,
  type ListenerCreateRequest,
  type ListenerPatchRequest,
  type ListenersList,
} from "./listener-schema.ts";

export async function createListener(
  ctx: Context,
  { version, ...input }: ListenerCreateRequest,
): Promise<Listener> {
  assertAllowed(ctx, "write");
  const { workspace_id } = ctx.caller;
  const now = new Date().toISOString();
  const row = { ...input, id: newId(), workspace_id, version: version ?? null };
  const [created] = await ctx.db
    .insert(listeners)
    .values({ ...row, created_at: now, updated_at: now })
    .returning()
    .catch((error: unknown) => {
      throw isUniqueViolation(error, "listeners.compute_id")
        ? listenerExists(workspace_id, input.compute_id, error)
        : error;
    });
  return Listener.parse(created);
}

export async function listListeners(
  ctx: Context,
  { limit, offset }: { limit: number; offset: number },
): Promise<ListenersList> {
  assertMay(ctx, "read");
  const rows = await ctx.db
    .select()
    .from(listeners)
    .where(inWorkspace(ctx, listeners))
    .orderBy(asc(listeners.created_at), asc(listeners.id))
    .limit(limit)
    .offset(offset);
  return { resources: rows.map((row) => Listener.parse(row)), offset: offset + rows.length };
}

export async function getListener(ctx: Context, id: string): Promise<Listener> {
  assertAllowed(ctx, "read");
  const [row] = await ctx.db
    .select()
    .from(listeners)
    .where(ownRow(ctx, listeners, id));
  return toListener(row, id);
}

export async function updateListener(
  ctx: Context,
  id: string,
  { compute_id, compute_config, version }: ListenerPatchRequest,
): Promise<Listener> {
  assertAllowed(ctx, "write");
  const before = await getListener(ctx, id);
  if (compute_id != null && compute_id !== before.compute_id) {
    const text = `cannot change (it is "${before.compute_id}"): create another listener`;
    throw invalid(["body", "compute_id"], text);
  }
  const [row] = await ctx.db
    .update(listeners)
    .set({
      ...(compute_config != null && { compute_config }),
      ...(version != null && { version }),
      updated_at: new Date().toISOString(),
    })
    .where(ownRow(ctx, listeners, id))
    .returning();
  return toListener(row, id);
}

export async function deleteListener(ctx: Context, id: string): Promise<void> {
  assertAllowed(ctx, "delete");
  const [row] = await ctx.db
    .delete(listeners)
    .where(ownRow(ctx, listeners, id))
    .returning();
  toListener(row, id);
}

function toListener(row: typeof listeners.$inferSelect | undefined, id: string): Listener {
  if (!row) throw notFound("Listener", id);
  return Listener.parse(row);
}

/** Published clients match the text of this error and that of `listenerExists`. */
function assertAllowed(ctx: Context, action: Action): void {
  assertMay(ctx, action);
  const { plan, workspace_id } = ctx.caller;
  if (plan === "enterprise") return;
  const text = `Listeners cannot be created for LangSmith workspace ID '${workspace_id}'. Creating listeners is only allowed for LangSmith organizations with self-hosted enterprise plans.`;
  throw new AppError("forbidden", text);
}

function listenerExists(workspace_id: string, compute_id: string, cause: unknown): AppError {
  const text = `Listener for LangSmith workspace ID '${workspace_id}' and compute ID '${compute_id}' already exists.`;
  return new AppError("conflict", text, { cause });
}
