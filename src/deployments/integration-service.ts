import { and, asc, eq } from "drizzle-orm";
import { assertMay } from "../shared/auth.ts";
import { type Context, type Database, database } from "../shared/context.ts";
import { decrypt, encrypt } from "../shared/crypto.ts";
import { invalid } from "../shared/errors.ts";
import { newId } from "../shared/ids.ts";
import { Integration, type IntegrationCreateRequest } from "./integration-schema.ts";
import { isHostOf } from "./sources.ts";
import type { StoredSourceConfig } from "./stored.ts";
import { integrations } from "./table.ts";

export async function createIntegration(
  ctx: Context,
  { name, token, api_url }: IntegrationCreateRequest,
): Promise<Integration> {
  assertMay(ctx, "write");
  const id = newId();
  const [row] = await ctx.db
    .insert(integrations)
    .values({
      id,
      workspace_id: ctx.caller.workspace_id,
      name,
      api_url,
      created_at: new Date().toISOString(),
      ...(await encrypt(ctx.env, token, tokenOwner(id))),
    })
    .returning();
  return Integration.parse(row);
}

export async function listIntegrations(ctx: Context): Promise<Integration[]> {
  assertMay(ctx, "read");
  const rows = await ctx.db
    .select()
    .from(integrations)
    .where(eq(integrations.workspace_id, ctx.caller.workspace_id))
    .orderBy(asc(integrations.installation_id));
  return rows.map((row) => Integration.parse(row));
}

/** An integration of another workspace, or for another host than the repository's, is refused. */
export async function assertIntegration(ctx: Context, config: StoredSourceConfig): Promise<void> {
  const { integration_id, repo_url } = config;
  if (integration_id === undefined) return;
  const loc = ["body", "source_config", "integration_id"];
  const row = await find(ctx.db, ctx.caller.workspace_id, integration_id);
  if (!row) throw invalid(loc, `there is no integration ${integration_id} in this workspace`);
  if (repo_url === undefined || isHostOf(row.api_url, repo_url)) return;
  throw invalid(
    loc,
    `the integration "${row.name}" is for ${new URL(row.api_url).host} and repo_url is on ${new URL(repo_url).host}; its token is sent to its own host only`,
  );
}

/** The token with which a build fetches a repository; null where it needs none. */
export async function readToken(
  env: Env,
  workspace_id: string,
  { integration_id, repo_url }: StoredSourceConfig,
): Promise<string | null> {
  if (integration_id === undefined || repo_url === undefined) return null;
  const row = await find(database(env), workspace_id, integration_id);
  if (!row || !isHostOf(row.api_url, repo_url)) return null;
  return decrypt(env, row, tokenOwner(row.id));
}

async function find(db: Database, workspace_id: string, id: string) {
  const [row] = await db
    .select()
    .from(integrations)
    .where(and(eq(integrations.id, id), eq(integrations.workspace_id, workspace_id)));
  return row;
}

function tokenOwner(id: string): string {
  return `integration:${id}`;
}
