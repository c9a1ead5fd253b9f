import { and, asc, eq } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import { type Context, type Database, database } from "../../../shared/context.ts";
import { decrypt, encrypt } from "../../../shared/crypto/crypto.ts";
import { assertReachable } from "../../../shared/egress/egress.ts";
import { invalid } from "../../../shared/errors.ts";
import { newId } from "../../../shared/storage/ids.ts";
import { isHostOf } from "../sources.ts";
import type { StoredSourceConfig } from "../stored.ts";
import { integrations } from "../table.ts";
import { installationToken, toPkcs8 } from "./app-token.ts";
import { Integration, type IntegrationCreateRequest } from "./integration-schema.ts";

export type IntegrationRow = typeof integrations.$inferSelect;

export async function createIntegration(
  ctx: Context,
  { name, token, app, api_url }: IntegrationCreateRequest,
): Promise<Integration> {
  assertMay(ctx, "write");
  assertReachable(ctx.env, "builds", { api_url });
  const id = newId();
  const [row] = await ctx.db
    .insert(integrations)
    .values({
      id,
      workspace_id: ctx.caller.workspace_id,
      name,
      api_url,
      app_id: app?.app_id ?? null,
      app_installation_id: app?.installation_id ?? null,
      created_at: new Date().toISOString(),
      ...(await encrypt(ctx.env, token ?? toKey(app), tokenOwner(id))),
    })
    .returning();
  return toIntegration(row);
}

function toKey(app: IntegrationCreateRequest["app"]): string {
  const key = toPkcs8(app?.private_key ?? "");
  if (key !== null) return key;
  const text = "must be an RSA private key: send the whole .pem file of the app";
  throw invalid(["body", "app", "private_key"], text);
}

/** The installation's number at its host, where it has one. */
function toIntegration(row: IntegrationRow | undefined): Integration {
  const installation_id = row?.app_installation_id ?? row?.installation_id;
  return Integration.parse({ ...row, installation_id });
}

export async function listIntegrations(ctx: Context): Promise<Integration[]> {
  assertMay(ctx, "read");
  const rows = await ctx.db
    .select()
    .from(integrations)
    .where(eq(integrations.workspace_id, ctx.caller.workspace_id))
    .orderBy(asc(integrations.installation_id));
  return rows.map(toIntegration);
}

/** An integration of another workspace, or for another host than the repository's, is refused. */
export async function assertIntegration(ctx: Context, config: StoredSourceConfig): Promise<void> {
  const { integration_id, repo_url } = config;
  if (integration_id === undefined) return;
  const loc = ["body", "source_config", "integration_id"];
  const row = await findIntegration(ctx.db, ctx.caller.workspace_id, integration_id);
  if (!row) throw invalid(loc, `integration ${integration_id} not found in this workspace`);
  if (repo_url === undefined || isHostOf(row.api_url, repo_url)) return;
  throw invalid(
    loc,
    `the integration "${row.name}" is for ${new URL(row.api_url).host} but repo_url is on ${new URL(repo_url).host}: use an integration of that host`,
  );
}

/** Returns the token for fetching a repository, `null` for a public one. */
export async function readToken(
  env: Env,
  workspace_id: string,
  { integration_id, repo_url }: StoredSourceConfig,
): Promise<string | null> {
  if (integration_id === undefined || repo_url === undefined) return null;
  const row = await findIntegration(database(env), workspace_id, integration_id);
  return row && isHostOf(row.api_url, repo_url) ? tokenOf(env, row) : null;
}

/** Returns the credential for the host's API. */
export async function tokenOf(env: Env, row: IntegrationRow): Promise<string> {
  const opened = await decrypt(env, row, tokenOwner(row.id));
  const { app_id, app_installation_id: installation_id } = row;
  if (app_id === null || installation_id === null) return opened;
  const app = { app_id, installation_id, private_key: opened };
  return installationToken(env, row.id, row.api_url, app);
}

export async function findIntegration(
  db: Database,
  workspace_id: string,
  id: string,
): Promise<IntegrationRow | undefined> {
  const [row] = await db
    .select()
    .from(integrations)
    .where(and(eq(integrations.id, id), eq(integrations.workspace_id, workspace_id)));
  return row;
}

/** Ties the ciphertext to its row. */
export function tokenOwner(id: string): string {
  return `integration:${id}`;
}
