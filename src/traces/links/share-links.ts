import { and, eq } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { database } from "../../shared/context.ts";
import { createLink, hashToken, tokenOfLink } from "../../shared/crypto/link-tokens.ts";
import { AppError } from "../../shared/errors.ts";
import { baseUrl } from "../../shared/http/base-url.ts";
import { among, deleteSome, hasSome, inWorkspace, MAX_IDS } from "../../shared/storage/sql.ts";
import { chunks } from "../../shared/work/chunks.ts";
import { trace_shares } from "./table.ts";

const PURPOSE = "trace-share";
/** Maximum number of links that one call deletes. */
const BATCH = 5000;

export type SharedTrace = { workspace_id: string; project_id: string; trace_id: string };

/** Returns the token of a trace's link, and creates the link when there is none. */
export async function findOrCreateShareToken(
  ctx: Context,
  { project_id, trace_id }: Omit<SharedTrace, "workspace_id">,
): Promise<string> {
  const known = await findShareToken(ctx, trace_id);
  if (known !== null) return known;
  const { token, ...link } = await createLink(ctx.env, PURPOSE);
  const { workspace_id } = ctx.caller;
  const created_at = new Date().toISOString();
  const row = { ...link, workspace_id, project_id, trace_id, created_at };
  const [made] = await ctx.db.insert(trace_shares).values(row).onConflictDoNothing().returning();
  return made ? token : findOrCreateShareToken(ctx, { project_id, trace_id });
}

/**
 * @returns `null` when the trace is not shared
 * @throws AppError 409 for a link that still works, but whose token cannot be derived: its encryption key is removed
 */
export async function findShareToken(ctx: Context, trace_id: string): Promise<string | null> {
  const [row] = await ctx.db.select().from(trace_shares).where(isShareOf(ctx, trace_id));
  if (!row) return null;
  const token = await tokenOfLink(ctx.env, PURPOSE, row);
  if (token !== null) return token;
  const text =
    "The trace has a link of an earlier encryption key, which works and cannot be shown: revoke it to create another.";
  throw new AppError("conflict", text);
}

export async function deleteShareLink(ctx: Context, trace_id: string): Promise<void> {
  await ctx.db.delete(trace_shares).where(isShareOf(ctx, trace_id));
}

/** Deletes the links of traces that are being deleted from these projects. */
export async function deleteLinksOfTraces(
  env: Env,
  workspace_id: string,
  { project_ids, trace_ids }: { project_ids: string[]; trace_ids: string[] },
): Promise<void> {
  const isOfWorkspace = eq(trace_shares.workspace_id, workspace_id);
  if (trace_ids.length === 0 || !(await hasSome(database(env), trace_shares, isOfWorkspace)))
    return;
  const isOfProjects = among(trace_shares.project_id, project_ids);
  for (const some of chunks(trace_ids, MAX_IDS)) {
    const isOfTraces = among(trace_shares.trace_id, some);
    await database(env)
      .delete(trace_shares)
      .where(and(isOfWorkspace, isOfProjects, isOfTraces));
  }
}

/** Deletes some links of a deleted project. Not scoped to a workspace. @returns true when none remain */
export function deleteLinksOfProject(env: Env, project_id: string): Promise<boolean> {
  return deleteSome(database(env), trace_shares, eq(trace_shares.project_id, project_id), BATCH);
}

/** Finds the trace of a link, `null` without one. Not scoped to a workspace: the token is the credential. */
export async function findSharedTrace(env: Env, token: string): Promise<SharedTrace | null> {
  const { workspace_id, project_id, trace_id } = trace_shares;
  const [row] = await database(env)
    .select({ workspace_id, project_id, trace_id })
    .from(trace_shares)
    .where(eq(trace_shares.token_hash, hashToken(token)));
  return row ?? null;
}

/** Returns the URL of the web page that shows a shared trace. */
export function shareUrl(env: Env, origin: string, token: string): string {
  return `${baseUrl(env, origin)}/public/${token}/r`;
}

function isShareOf({ caller }: Context, trace_id: string) {
  return and(inWorkspace({ caller }, trace_shares), eq(trace_shares.trace_id, trace_id));
}
