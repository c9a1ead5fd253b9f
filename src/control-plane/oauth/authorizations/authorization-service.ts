import { and, eq, sql } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { encrypt, randomToken, sha256Hex } from "../../../shared/crypto/crypto.ts";
import { encodeBytes } from "../../../shared/crypto/encoding.ts";
import { AppError, notFound } from "../../../shared/errors.ts";
import { assertRate } from "../../../shared/http/rate-limit.ts";
import { newId } from "../../../shared/storage/ids.ts";
import { inWorkspace } from "../../../shared/storage/sql.ts";
import type { AuthenticateRequest, Authentication } from "../authorization-schema.ts";
import { resourceOf } from "../client/metadata.ts";
import { ownerOf, ownUserId, subjectOf } from "../owner.ts";
import { consentUrl, redirectUri } from "../redirect.ts";
import { toError } from "../storage/deletion.ts";
import { needProvider, type ProviderRow } from "../storage/rows.ts";
import { oauth_authorizations, oauth_connections, oauth_tokens } from "../table.ts";
import { readToken, type TokenRow } from "../tokens/token-service.ts";
import { decideToken, type TokenRequest } from "./token-decision.ts";

/** Maximum number of tokens of one subject of an owner at one provider. Each request for a token reads all of them. */
const MAX_TOKENS = 1000;
/** Maximum number of pending consents of an owner. An owner may be the service key of an app with many users. */
const MAX_CONSENTS = 1000;
const CONSENTS = { name: "oauth_consents", calls: 100, in_s: 60 };
const AUTHORIZATION_MS = 10 * 60 * 1000;
/** A code verifier has 43 to 128 unreserved characters (RFC 7636). */
const VERIFIER_LENGTH = 64;
const STATE_LENGTH = 43;

type AuthorizationRequest = { owner: string; subject: string; agent_id: string | null };

/** Returns a token, the URL at which the user consents, or the status `connection_required`. */
export async function authenticateUser(
  ctx: Context,
  input: AuthenticateRequest,
  origin: string,
): Promise<Authentication> {
  assertMay(ctx, "read");
  const request = {
    owner: ownerOf(ctx.caller),
    subject: subjectOf(ctx.caller, input),
    agent_id: input.agent_id ?? null,
  };
  const provider = await needProvider(ctx, input.provider);
  const [tokens, connected] = await Promise.all([
    findTokens(ctx, request, provider),
    findConnected(ctx, request),
  ]);
  const decision = decideToken(tokens, toTokenRequest(input), connected);
  const consent = (token: TokenRow | null) =>
    beginAuthorization(ctx, provider, request, input, token, origin);
  switch (decision.do) {
    case "refuse":
      throw notFound("OAuth token", input.token_id ?? "");
    case "connect":
      return connectionRequired(ctx, decision.token);
    case "consent":
      assertBelowLimit(decision.token, tokens, provider);
      return consent(decision.token);
    case "read": {
      const answer = await readToken(ctx.env, ctx.db, decision.token, provider);
      if (answer.ok) return completed(ctx, decision.token, answer);
      if (answer.reason !== "ended") throw toError(answer);
      const again = await consent(decision.token);
      return input.token_id ? { ...again, status: "token_expired" } : again;
    }
  }
}

function toTokenRequest({
  scopes,
  agent_id,
  token_id,
  force_new,
}: AuthenticateRequest): TokenRequest {
  return {
    scopes,
    agent_id: agent_id ?? null,
    token_id: token_id ?? null,
    force_new: force_new === true,
  };
}

async function findTokens(
  ctx: Context,
  { owner, subject }: AuthorizationRequest,
  provider: ProviderRow,
) {
  return ctx.db
    .select()
    .from(oauth_tokens)
    .where(
      and(
        inWorkspace(ctx, oauth_tokens),
        eq(oauth_tokens.owner, owner),
        eq(oauth_tokens.subject, subject),
        eq(oauth_tokens.oauth_provider_id, provider.id),
      ),
    )
    .limit(MAX_TOKENS + MAX_CONSENTS);
}

/** Allows renewals at the limit. Pending consents do not count, so each of them may add one token beyond the limit. */
function assertBelowLimit(
  renewed: TokenRow | null,
  tokens: readonly TokenRow[],
  { provider_id }: ProviderRow,
): void {
  if (renewed !== null || tokens.length < MAX_TOKENS) return;
  const text = `The limit of ${MAX_TOKENS} OAuth tokens of a user at ${provider_id} is reached: delete one first, or renew one with token_id and force_new.`;
  throw new AppError("conflict", text);
}

/** Reads the connections of the owner only: those of other owners have other tokens. */
async function findConnected(
  ctx: Context,
  { owner, agent_id }: AuthorizationRequest,
): Promise<Set<string>> {
  if (agent_id === null) return new Set();
  const rows = await ctx.db
    .select({ token_id: oauth_connections.oauth_token_id })
    .from(oauth_connections)
    .where(
      and(
        inWorkspace(ctx, oauth_connections),
        eq(oauth_connections.agent_id, agent_id),
        eq(oauth_connections.created_by, owner),
      ),
    );
  return new Set(rows.map(({ token_id }) => token_id));
}

/**
 * Stores a pending consent and returns its URL. State and verifier are valid once, for ten minutes. The state is
 * returned once and stored as a hash.
 */
async function beginAuthorization(
  ctx: Context,
  provider: ProviderRow,
  request: AuthorizationRequest,
  { scopes, is_default }: AuthenticateRequest,
  token: TokenRow | null,
  origin: string,
): Promise<Authentication> {
  assertRate(ctx, CONSENTS);
  const [auth_id, state, now] = [newId(), randomToken(STATE_LENGTH), Date.now()];
  ctx.audited = [{ name: "auth_id", id: auth_id }];
  const verifier = provider.uses_pkce ? randomToken(VERIFIER_LENGTH) : "";
  const redirect_uri = redirectUri(ctx.env, origin, provider.provider_id);
  const pending = ctx.db.insert(oauth_authorizations).values({
    id: auth_id,
    workspace_id: ctx.caller.workspace_id,
    oauth_provider_id: provider.id,
    provider_id: provider.provider_id,
    ...request,
    scopes: [...scopes],
    is_default: is_default ?? token?.is_default ?? true,
    state_sha256: sha256Hex(state),
    ...(await encrypt(ctx.env, verifier, verifierOwner(auth_id))),
    redirect_uri,
    token_id: token?.id ?? newId(),
    status: "pending",
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + AUTHORIZATION_MS).toISOString(),
  });
  await ctx.db.batch([pending, forgetOldest(ctx, request.owner)]);
  const { client_id, auth_url, code_challenge_method: method, mcp_server_url } = provider;
  const challenge = verifier === "" ? null : { value: await challengeOf(verifier, method), method };
  const resource = mcp_server_url === null ? null : resourceOf(mcp_server_url);
  return {
    status: "pending",
    url: consentUrl(auth_url, { client_id, redirect_uri, scopes, state, challenge, resource }),
    auth_id,
    token: null,
    user_id: request.subject || ownUserId(ctx.caller),
    metadata: null,
  };
}

/** Deletes the pending consents that are not among the newest `MAX_CONSENTS` authorizations of their owner. */
function forgetOldest(ctx: Context, owner: string) {
  const isOwned = and(
    inWorkspace(ctx, oauth_authorizations),
    eq(oauth_authorizations.owner, owner),
  );
  const kept = sql`select id from ${oauth_authorizations} where ${isOwned} order by id desc limit ${MAX_CONSENTS}`;
  return ctx.db
    .delete(oauth_authorizations)
    .where(
      and(
        isOwned,
        eq(oauth_authorizations.status, "pending"),
        sql`${oauth_authorizations.id} not in (${kept})`,
      ),
    );
}

export function verifierOwner(auth_id: string): string {
  return `oauth_authorization:${auth_id}`;
}

async function challengeOf(verifier: string, method: "S256" | "plain"): Promise<string> {
  if (method === "plain") return verifier;
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return encodeBytes(hash, "base64url");
}

function completed(
  ctx: Context,
  row: TokenRow,
  { access_token, expires_at }: { access_token: string; expires_at: string | null },
): Authentication {
  return {
    status: "completed",
    url: null,
    auth_id: null,
    token: access_token,
    user_id: row.subject || ownUserId(ctx.caller),
    metadata: { token_id: row.id, scopes: row.scopes, expires_at },
  };
}

function connectionRequired(ctx: Context, { id, subject }: TokenRow): Authentication {
  return {
    status: "connection_required",
    url: null,
    auth_id: null,
    token: null,
    user_id: subject || ownUserId(ctx.caller),
    metadata: { token_id: id },
  };
}
