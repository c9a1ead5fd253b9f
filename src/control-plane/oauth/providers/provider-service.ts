import { and, asc, eq, exists, notExists, sql } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { assertReachable } from "../../../shared/egress/egress.ts";
import { AppError } from "../../../shared/errors.ts";
import { newId } from "../../../shared/storage/ids.ts";
import {
  insertBelow,
  inWorkspace,
  isForeignKeyViolation,
  isUniqueViolation,
} from "../../../shared/storage/sql.ts";
import {
  Provider,
  type ProviderCreateRequest,
  type ProviderDeletion,
  type ProviderPatchRequest,
} from "../provider-schema.ts";
import {
  auditDeletion,
  type Counts,
  deleteOne,
  deleteUnrevoked,
  toError,
} from "../storage/deletion.ts";
import {
  type Credentials,
  isProvider,
  needProvider,
  type ProviderRow,
  sealCredentials,
} from "../storage/rows.ts";
import { oauth_authorizations, oauth_providers, oauth_tokens } from "../table.ts";
import { assertSameOrigin, buildProviderUpdate } from "./provider-change.ts";

/** Maximum number of providers in a workspace: the list has no pages. */
const MAX_PROVIDERS = 500;

type NewProvider = Omit<
  ProviderRow,
  "id" | "workspace_id" | "organization_id" | "key_id" | "ciphertext" | "created_at" | "updated_at"
>;

export async function createProvider(
  ctx: Context,
  { client_secret, token_request_headers, ...input }: ProviderCreateRequest,
): Promise<Provider> {
  assertMay(ctx, "write");
  const { auth_url, token_url, revocation_url } = input;
  assertReachable(ctx.env, "oauth", { auth_url, token_url, revocation_url });
  assertSameOrigin(token_url, revocation_url);
  return insertProvider(
    ctx,
    {
      ...input,
      revocation_url: revocation_url ?? null,
      provider_type: input.provider_type ?? null,
      issuer: null,
      mcp_server_url: null,
      is_dynamic_client: false,
    },
    {
      client_secret: client_secret ?? null,
      token_request_headers: token_request_headers ?? {},
    },
  );
}

export async function insertProvider(
  ctx: Context,
  input: NewProvider,
  credentials: Credentials,
): Promise<Provider> {
  const [id, now] = [newId(), new Date().toISOString()];
  const { workspace_id, organization_id } = ctx.caller;
  const row: ProviderRow = {
    ...input,
    id,
    workspace_id,
    organization_id,
    ...(await sealCredentials(ctx.env, id, credentials)),
    created_at: now,
    updated_at: now,
  };
  const bound = { limit: MAX_PROVIDERS, where: inWorkspace(ctx, oauth_providers) };
  const made = await insertBelow(ctx.db, oauth_providers, row, bound).catch((error: unknown) => {
    throw isUniqueViolation(error, "oauth_providers")
      ? providerExists(row.provider_id, error)
      : error;
  });
  if (made !== undefined) return Provider.parse(made);
  const text = `The limit of ${MAX_PROVIDERS} OAuth providers is reached: delete one first.`;
  throw new AppError("conflict", text);
}

export async function listProviders(ctx: Context): Promise<Provider[]> {
  assertMay(ctx, "read");
  const rows = await ctx.db
    .select()
    .from(oauth_providers)
    .where(inWorkspace(ctx, oauth_providers))
    .orderBy(asc(oauth_providers.created_at), asc(oauth_providers.id))
    .limit(MAX_PROVIDERS);
  return rows.map((row) => Provider.parse(row));
}

export async function getProvider(ctx: Context, provider_id: string): Promise<Provider> {
  assertMay(ctx, "read");
  return Provider.parse(await needProvider(ctx, provider_id));
}

/** Deletes pending consents too: they began with the former settings. */
export async function updateProvider(
  ctx: Context,
  provider_id: string,
  patch: ProviderPatchRequest,
): Promise<Provider> {
  assertMay(ctx, "write");
  const row = await needProvider(ctx, provider_id);
  const { change, changesOrigin, isUnchanged } = await buildProviderUpdate(ctx.env, row, patch);
  const changed = ctx.db
    .select({ one: sql`1` })
    .from(oauth_providers)
    .where(and(eq(oauth_providers.id, row.id), eq(oauth_providers.updated_at, change.updated_at)));
  const [[updated]] = await ctx.db.batch([
    ctx.db
      .update(oauth_providers)
      .set(change)
      .where(
        and(
          isProvider(ctx, provider_id),
          eq(oauth_providers.id, row.id),
          changesOrigin ? hasNoGrants(ctx, row.id) : undefined,
          isUnchanged,
        ),
      )
      .returning(),
    ctx.db.delete(oauth_authorizations).where(and(isIn("pending", row.id), exists(changed))),
  ]);
  if (updated) return Provider.parse(updated);
  throw notUpdated(row, await needProvider(ctx, provider_id));
}

function notUpdated(before: ProviderRow, now: ProviderRow): AppError {
  const { provider_id, ciphertext, token_url } = before;
  const isChanged = now.ciphertext !== ciphertext || now.token_url !== token_url;
  const text = isChanged
    ? `${provider_id} was changed by another request: read it, and send the change again.`
    : `token_url of ${provider_id} cannot change its origin while it has tokens or exchanges a code: create another provider, or delete the tokens first.`;
  return new AppError("conflict", text);
}

/** SQL condition: the provider has no tokens, and no exchange that sends its code to the stored `token_url`. */
function hasNoGrants({ db }: Context, id: string) {
  const one = { one: sql`1` };
  const tokens = db.select(one).from(oauth_tokens).where(eq(oauth_tokens.oauth_provider_id, id));
  const exchanges = db.select(one).from(oauth_authorizations).where(isIn("exchanging", id));
  return and(notExists(tokens), notExists(exchanges));
}

/**
 * Revokes every grant of the provider first. Stops with an error when the provider is unavailable: its row and the
 * remaining grants stay. A grant that the provider refuses to revoke is deleted without revocation.
 */
export async function deleteProvider(ctx: Context, provider_id: string): Promise<ProviderDeletion> {
  assertMay(ctx, "delete");
  const row = await needProvider(ctx, provider_id);
  await ctx.db.delete(oauth_authorizations).where(isIn("pending", row.id));
  const tokens = await ctx.db
    .select({ id: oauth_tokens.id })
    .from(oauth_tokens)
    .where(eq(oauth_tokens.oauth_provider_id, row.id));
  const counts = await deleteGrants(ctx, row, tokens);
  // An exchange that crashed may have stored a grant that has no token row.
  const exchanges = await ctx.db
    .select({ id: oauth_authorizations.token_id })
    .from(oauth_authorizations)
    .where(isIn("exchanging", row.id));
  await deleteGrants(ctx, row, exchanges);
  await dropProvider(ctx, row);
  return { message: `OAuth provider ${provider_id} deleted.`, provider_id, ...counts };
}

async function deleteGrants(
  ctx: Context,
  row: ProviderRow,
  tokens: readonly { id: string }[],
): Promise<Counts> {
  const counts = { revoked: 0, not_revoked: 0 };
  for (const { id } of tokens) {
    const answer = await deleteOne(ctx.env, ctx.db, id, row);
    if (!answer.ok && answer.reason === "unavailable") throw toError(answer);
    if (!answer.ok) await deleteUnrevoked(ctx.env, ctx.db, id);
    auditDeletion(ctx, id);
    counts[answer.ok && answer.outcome === "revoked" ? "revoked" : "not_revoked"] += 1;
  }
  return counts;
}

async function dropProvider(ctx: Context, { id, provider_id }: ProviderRow): Promise<void> {
  try {
    await ctx.db.batch([
      ctx.db.delete(oauth_authorizations).where(eq(oauth_authorizations.oauth_provider_id, id)),
      ctx.db
        .delete(oauth_providers)
        .where(and(isProvider(ctx, provider_id), eq(oauth_providers.id, id))),
    ]);
  } catch (error) {
    throw isForeignKeyViolation(error) ? overtaken(error) : error;
  }
}

function overtaken(cause: unknown): AppError {
  const text = "A token was granted while the provider was being deleted: retry the deletion.";
  return new AppError("conflict", text, { cause });
}

function isIn(status: "pending" | "exchanging", oauth_provider_id: string) {
  return and(
    eq(oauth_authorizations.oauth_provider_id, oauth_provider_id),
    eq(oauth_authorizations.status, status),
  );
}

function providerExists(provider_id: string, cause: unknown): AppError {
  const text = `An OAuth provider ${provider_id} exists in this workspace: update it, or choose another provider_id.`;
  return new AppError("conflict", text, { cause });
}
