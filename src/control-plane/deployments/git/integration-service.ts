import { and, asc, eq, notExists, sql } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import { type Context, type Database, database } from "../../../shared/context.ts";
import { decrypt, encrypt } from "../../../shared/crypto/crypto.ts";
import { assertReachable } from "../../../shared/egress/egress.ts";
import { AppError, invalid, notFound } from "../../../shared/errors.ts";
import { newId } from "../../../shared/storage/ids.ts";
import {
  insertBelow,
  inWorkspace,
  isUniqueViolation,
  ownRow,
} from "../../../shared/storage/sql.ts";
import type { StoredSourceConfig } from "../stored.ts";
import { deployments, integrations } from "../table.ts";
import { installationToken, toPkcs8 } from "./app-token.ts";
import { isHostOf } from "./git-host.ts";
import {
  Integration,
  type IntegrationCreateRequest,
  type IntegrationPatchRequest,
} from "./integration-schema.ts";

export type IntegrationRow = typeof integrations.$inferSelect;

/** Maximum number of integrations of a workspace, which the list returns at once. */
export const MAX_INTEGRATIONS = 500;

/** Maximum number of deployments that the error of a refused deletion names. */
const LISTED_USERS = 5;

export async function createIntegration(
  ctx: Context,
  { name, token, app, api_url }: IntegrationCreateRequest,
): Promise<Integration> {
  assertMay(ctx, "write");
  assertReachable(ctx.env, "builds", { api_url });
  const id = newId();
  const inserted = {
    id,
    workspace_id: ctx.caller.workspace_id,
    name,
    api_url,
    created_at: new Date().toISOString(),
    ...(await seal(ctx, id, { token, app })),
  };
  const limit = { limit: MAX_INTEGRATIONS, where: inWorkspace(ctx, integrations) };
  const row = await insertBelow(ctx.db, integrations, inserted, limit).catch((error: unknown) =>
    refuseName(name, error),
  );
  if (row !== undefined) return toIntegration(row);
  const text = `A workspace has at most ${MAX_INTEGRATIONS} integrations: delete one that no deployment uses.`;
  throw new AppError("conflict", text);
}

/** Updates an integration. A running attempt of a build keeps the token that it has read. */
export async function updateIntegration(
  ctx: Context,
  id: string,
  { name, token, app, api_url }: IntegrationPatchRequest,
): Promise<Integration> {
  assertMay(ctx, "write");
  const before = await findIntegration(ctx.db, ctx.caller.workspace_id, id);
  if (!before) throw notFound("Integration", id);
  if (api_url != null && api_url !== before.api_url) {
    const text = `cannot change (it is "${before.api_url}"): create another integration`;
    throw invalid(["body", "api_url"], text);
  }
  const changed = {
    ...(name != null && { name }),
    ...((token != null || app != null) && (await seal(ctx, id, { token, app }))),
  };
  if (Object.keys(changed).length === 0) return toIntegration(before);
  const [row] = await ctx.db
    .update(integrations)
    .set(changed)
    .where(ownRow(ctx, integrations, id))
    .returning()
    .catch((error: unknown) => refuseName(name ?? before.name, error));
  if (!row) throw notFound("Integration", id);
  return toIntegration(row);
}

/** Deletes the credentials. @throws AppError 409 while a deployment uses them, because it could not build any more */
export async function deleteIntegration(ctx: Context, id: string): Promise<void> {
  assertMay(ctx, "delete");
  const users = ctx.db
    .select({ name: deployments.name })
    .from(deployments)
    .where(
      and(
        inWorkspace(ctx, deployments),
        eq(deployments.status, "READY"),
        sql`${deployments.source_config} ->> 'integration_id' = ${id}`,
      ),
    )
    .limit(LISTED_USERS);
  const rows = await ctx.db
    .delete(integrations)
    .where(and(ownRow(ctx, integrations, id), notExists(users)))
    .returning({ id: integrations.id });
  if (rows.length > 0) return;
  const names = (await users).map(({ name }) => name).join(", ");
  if (names === "") throw notFound("Integration", id);
  const text = `Deployments use this integration: ${names}. Set another integration_id, or null, in their source_config, or rotate the token with PATCH.`;
  throw new AppError("conflict", text);
}

type CredentialInput = Pick<IntegrationPatchRequest, "token" | "app">;

async function seal(ctx: Context, id: string, { token, app }: CredentialInput) {
  return {
    app_id: app?.app_id ?? null,
    app_installation_id: app?.installation_id ?? null,
    ...(await encrypt(ctx.env, token ?? toKey(app), tokenOwner(id))),
  };
}

function refuseName(name: string, error: unknown): never {
  if (!isUniqueViolation(error, "integrations.name")) throw error;
  const text = `An integration named "${name}" exists in this workspace: choose another name, or update it with PATCH.`;
  throw new AppError("conflict", text, { cause: error });
}

function toKey(app: CredentialInput["app"]): string {
  const key = toPkcs8(app?.private_key ?? "");
  if (key !== null) return key;
  const text = "must be an RSA private key: send the whole .pem file of the app";
  throw invalid(["body", "app", "private_key"], text);
}

/** Converts a row. `installation_id` is that of the GitHub App, or the number of the row for a token. */
function toIntegration(row: IntegrationRow | undefined): Integration {
  const installation_id = row?.app_installation_id ?? row?.installation_id;
  return Integration.parse({ ...row, installation_id });
}

export async function listIntegrations(ctx: Context): Promise<Integration[]> {
  assertMay(ctx, "read");
  const rows = await ctx.db
    .select()
    .from(integrations)
    .where(inWorkspace(ctx, integrations))
    .orderBy(asc(integrations.installation_id));
  return rows.map(toIntegration);
}

/** @throws AppError 422 for an integration of another workspace, or for another host than the repository's */
export async function assertIntegration(ctx: Context, config: StoredSourceConfig): Promise<void> {
  const { integration_id, repo_url } = config;
  if (integration_id === undefined) return;
  const loc = ["body", "source_config", "integration_id"];
  const row = await findIntegration(ctx.db, ctx.caller.workspace_id, integration_id);
  if (!row) throw invalid(loc, `integration ${integration_id} not found in this workspace`);
  if (repo_url === undefined || isHostOf(row.api_url, repo_url)) return;
  throw invalid(
    loc,
    `the integration "${row.name}" is for ${new URL(row.api_url).origin} but repo_url is on ${new URL(repo_url).origin}: use an integration of that host`,
  );
}

/** Returns the token for fetching a repository. @returns `null` without an integration for its host */
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
  const credential = await decrypt(env, row, tokenOwner(row.id));
  const { app_id, app_installation_id: installation_id } = row;
  if (app_id === null || installation_id === null) return credential;
  const app = { app_id, installation_id, private_key: credential };
  return installationToken(env, row, app);
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

/** Returns the owner that the ciphertext is bound to: in another row it does not decrypt. */
export function tokenOwner(id: string): string {
  return `integration:${id}`;
}
