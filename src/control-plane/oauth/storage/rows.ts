import { and, eq } from "drizzle-orm";
import type { Context } from "../../../shared/context.ts";
import { decrypt, encrypt, type SealedText } from "../../../shared/crypto/crypto.ts";
import { AppError } from "../../../shared/errors.ts";
import { inWorkspace } from "../../../shared/storage/sql.ts";
import { resourceOf } from "../client/metadata.ts";
import type { ProviderAccess } from "../client/provider-access.ts";
import { oauth_providers } from "../table.ts";

export type ProviderRow = typeof oauth_providers.$inferSelect;

export type Credentials = {
  client_secret: string | null;
  token_request_headers: Record<string, string>;
};

export async function findProvider(
  ctx: Context,
  provider_id: string,
): Promise<ProviderRow | undefined> {
  const [row] = await ctx.db.select().from(oauth_providers).where(isProvider(ctx, provider_id));
  return row;
}

export function isProvider(ctx: Context, provider_id: string) {
  return and(inWorkspace(ctx, oauth_providers), eq(oauth_providers.provider_id, provider_id));
}

export async function needProvider(ctx: Context, provider_id: string): Promise<ProviderRow> {
  const row = await findProvider(ctx, provider_id);
  if (row) return row;
  throw new AppError("not_found", `OAuth provider ${provider_id} not found in this workspace.`);
}

export function sealCredentials(
  env: Env,
  id: string,
  credentials: Credentials,
): Promise<SealedText> {
  return encrypt(env, JSON.stringify(credentials), sealOwner(id));
}

export async function openCredentials(env: Env, row: ProviderRow): Promise<Credentials> {
  return JSON.parse(await decrypt(env, row, sealOwner(row.id)));
}

export async function openProvider(env: Env, row: ProviderRow): Promise<ProviderAccess> {
  return {
    ...(await openCredentials(env, row)),
    provider_id: row.provider_id,
    provider_type: row.provider_type,
    token_url: row.token_url,
    revocation_url: row.revocation_url,
    client_id: row.client_id,
    token_endpoint_auth_method: row.token_endpoint_auth_method,
    resource: row.mcp_server_url === null ? null : resourceOf(row.mcp_server_url),
  };
}

export function sealOwner(id: string): string {
  return `oauth_provider:${id}`;
}
