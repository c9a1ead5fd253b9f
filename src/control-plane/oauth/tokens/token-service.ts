import { and, asc, eq, ne, type SQL } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import type { Context, Database } from "../../../shared/context.ts";
import { notFound } from "../../../shared/errors.ts";
import { inWorkspace } from "../../../shared/storage/sql.ts";
import { ownerOf } from "../owner.ts";
import { deleteMany, deleteOne, type RevocationOutcome, toError } from "../storage/deletion.ts";
import type { TokenResult } from "../storage/object.ts";
import { needProvider, openProvider, type ProviderRow } from "../storage/rows.ts";
import { tokenObject } from "../storage/stub.ts";
import { oauth_providers, oauth_tokens } from "../table.ts";
import {
  type TokenDeletion,
  type TokenExists,
  type TokenMetadata,
  TokenSummary,
  type TokensQuery,
} from "../token-schema.ts";

export type TokenRow = typeof oauth_tokens.$inferSelect;

/** Returns the access token from its object, and records a refresh in the token's row. */
export async function readToken(
  env: Env,
  db: Database,
  row: TokenRow,
  provider: ProviderRow,
): Promise<TokenResult> {
  const access = await openProvider(env, provider);
  const answer = await tokenObject(env, row.id).read(row.id, access);
  if (answer.ok && answer.refreshed !== null) {
    const { expires_at, refreshed } = answer;
    const updated_at = new Date().toISOString();
    const change = {
      expires_at,
      updated_at,
      ...(refreshed.scopes && { scopes: refreshed.scopes }),
    };
    await db.update(oauth_tokens).set(change).where(eq(oauth_tokens.id, row.id));
  }
  return answer;
}

export async function listTokens(
  ctx: Context,
  { provider_id, limit, offset }: TokensQuery,
): Promise<TokenSummary[]> {
  assertMay(ctx, "read");
  const rows = await ctx.db
    .select()
    .from(oauth_tokens)
    .where(isOwn(ctx, provider_id && eq(oauth_tokens.provider_id, provider_id)))
    .orderBy(asc(oauth_tokens.created_at), asc(oauth_tokens.id))
    .limit(limit)
    .offset(offset);
  return rows.map((row) => TokenSummary.parse(row));
}

export async function hasToken(ctx: Context, provider_id: string): Promise<TokenExists> {
  assertMay(ctx, "read");
  const rows = await ctx.db
    .select({ id: oauth_tokens.id })
    .from(oauth_tokens)
    .where(isOwn(ctx, eq(oauth_tokens.provider_id, provider_id)))
    .limit(1);
  return { has_token: rows.length > 0 };
}

/** Requires the right to read only, as do the deletions below: the token is the caller's own. */
export async function updateTokenMetadata(
  ctx: Context,
  token_id: string,
  { provider_account_label, is_default }: TokenMetadata,
): Promise<TokenSummary> {
  assertMay(ctx, "read");
  const { subject, oauth_provider_id } = await needOwnToken(ctx, token_id);
  const change = {
    updated_at: new Date().toISOString(),
    ...(provider_account_label !== undefined && { provider_account_label }),
    ...(is_default !== undefined && is_default !== null && { is_default }),
  };
  const update = ctx.db
    .update(oauth_tokens)
    .set(change)
    .where(isOwn(ctx, eq(oauth_tokens.id, token_id)))
    .returning();
  const siblings = and(
    eq(oauth_tokens.subject, subject),
    eq(oauth_tokens.oauth_provider_id, oauth_provider_id),
    ne(oauth_tokens.id, token_id),
  );
  const clear = ctx.db.update(oauth_tokens).set({ is_default: false }).where(isOwn(ctx, siblings));
  const [[row]] = is_default ? await ctx.db.batch([update, clear]) : await ctx.db.batch([update]);
  if (!row) throw notFound("OAuth token", token_id);
  return TokenSummary.parse(row);
}

export async function deleteToken(ctx: Context, token_id: string): Promise<RevocationOutcome> {
  assertMay(ctx, "read");
  const token = await needOwnToken(ctx, token_id);
  const provider = await providerOf(ctx, token);
  const answer = await deleteOne(ctx.env, ctx.db, token_id, provider);
  if (!answer.ok) throw toError(answer);
  return answer.outcome;
}

/** Revokes and deletes all tokens that the caller has of a provider, for every agent. Continues when one fails. */
export async function deleteTokens(ctx: Context, provider_id: string): Promise<TokenDeletion> {
  assertMay(ctx, "read");
  const provider = await needProvider(ctx, provider_id);
  const rows = await ctx.db
    .select()
    .from(oauth_tokens)
    .where(isOwn(ctx, eq(oauth_tokens.oauth_provider_id, provider.id)));
  const tokens = rows.map(({ id }) => ({ id, provider }));
  const counts = await deleteMany(ctx, tokens);
  return { message: `Tokens of ${provider_id} deleted.`, provider_id, ...counts };
}

export async function needOwnToken(ctx: Context, token_id: string): Promise<TokenRow> {
  const [row] = await ctx.db
    .select()
    .from(oauth_tokens)
    .where(isOwn(ctx, eq(oauth_tokens.id, token_id)));
  if (row) return row;
  throw notFound("OAuth token", token_id);
}

async function providerOf(ctx: Context, token: TokenRow): Promise<ProviderRow> {
  const [row] = await ctx.db
    .select()
    .from(oauth_providers)
    .where(and(eq(oauth_providers.id, token.oauth_provider_id), inWorkspace(ctx, oauth_providers)));
  if (row) return row;
  throw notFound("OAuth token", token.id);
}

/** SQL condition: the caller owns the token. Admins do not own the tokens of others. */
function isOwn(ctx: Context, also: SQL | "" | undefined): SQL | undefined {
  return and(
    inWorkspace(ctx, oauth_tokens),
    eq(oauth_tokens.owner, ownerOf(ctx.caller)),
    also || undefined,
  );
}
