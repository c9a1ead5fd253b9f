import { and, eq } from "drizzle-orm";
import { type Context, type Database, database } from "../../../shared/context.ts";
import { decrypt } from "../../../shared/crypto/crypto.ts";
import { AppError } from "../../../shared/errors.ts";
import type { CallbackAnswer, CallbackQuery } from "../authorization-schema.ts";
import { providerMessage } from "../client/grants.ts";
import { isSameIssuer } from "../client/metadata.ts";
import { requestGrant } from "../client/provider-client.ts";
import { ownerOf } from "../owner.ts";
import { isPending } from "../pending-authorization.ts";
import { openProvider, type ProviderRow } from "../storage/rows.ts";
import { tokenObject } from "../storage/stub.ts";
import { oauth_authorizations, oauth_providers } from "../table.ts";
import { verifierOwner } from "./authorization-service.ts";
import { type AuthorizationRow, saveToken } from "./new-token.ts";

/** End of an authorization, with a text for the person at the browser. */
export type CallbackOutcome = {
  status: "connected" | "failed";
  message: string;
  provider_name: string | null;
};

/** Ends the authorization of `state` with the provider's response in the query. A `state` is valid once. */
export async function finishAuthorization(
  env: Env,
  provider_id: string,
  query: CallbackQuery,
): Promise<CallbackOutcome> {
  const db = database(env);
  const claimed = query.state
    ? await claimAuthorization(db, provider_id, query.state, null)
    : undefined;
  if (!claimed) return unknownState();
  return finish(env, db, claimed, query);
}

/** Records a denied consent. The code is not used. */
export async function refuseAuthorization(
  env: Env,
  provider_id: string,
  state: string,
): Promise<CallbackOutcome> {
  const refusal = { error: "access_denied", error_description: "the user cancelled" };
  return finishAuthorization(env, provider_id, { state, ...refusal });
}

/** Finishes an authorization through the API, for a client that received the redirect itself. The caller must own it. */
export async function submitCallback(
  ctx: Context,
  provider_id: string,
  input: { code: string; state: string },
): Promise<CallbackAnswer> {
  const requester = { owner: ownerOf(ctx.caller), workspace_id: ctx.caller.workspace_id };
  const claimed = await claimAuthorization(ctx.db, provider_id, input.state, requester);
  if (!claimed) throw new AppError("not_found", unknownState().message);
  const { status, message } = await finish(ctx.env, ctx.db, claimed, input);
  if (status === "failed") throw new AppError("bad_request", message);
  return { status: "completed", provider_id, token_id: claimed.row.token_id };
}

type ClaimedAuthorization = { row: AuthorizationRow; provider: ProviderRow };

/**
 * Compare-and-set: returns the row only to the first caller with this state, and the provider as of that moment. With a
 * `requester`, the authorization must be that of the requester.
 */
async function claimAuthorization(
  db: Database,
  provider_id: string,
  state: string,
  requester: { owner: string; workspace_id: string } | null,
): Promise<ClaimedAuthorization | undefined> {
  const isMeant = and(
    isPending(provider_id, state),
    requester === null ? undefined : eq(oauth_authorizations.owner, requester.owner),
    requester === null ? undefined : eq(oauth_authorizations.workspace_id, requester.workspace_id),
  );
  const isOfState = eq(oauth_authorizations.oauth_provider_id, oauth_providers.id);
  const [[found], [row]] = await db.batch([
    db
      .select({ provider: oauth_providers })
      .from(oauth_providers)
      .innerJoin(oauth_authorizations, isOfState)
      .where(isMeant),
    db
      .update(oauth_authorizations)
      .set({ status: "exchanging", state_sha256: null })
      .where(isMeant)
      .returning(),
  ]);
  return found && row && { row, provider: found.provider };
}

async function finish(
  env: Env,
  db: Database,
  { row, provider }: ClaimedAuthorization,
  query: CallbackQuery,
): Promise<CallbackOutcome> {
  const problem = problemOf(query, provider);
  if (problem !== null) return fail(db, row, provider, problem);
  const answer = await exchange(env, row, provider, query.code ?? "");
  if (!answer.ok) return fail(db, row, provider, answer.message);
  await tokenObject(env, row.token_id).store(row.token_id, answer.grant);
  if (!(await saveToken(db, row, answer.grant))) return undo(env, db, row, provider);
  return {
    status: "connected",
    message: `${provider.name} is connected. You can close this window.`,
    provider_name: provider.name,
  };
}

/**
 * Returns why the response has no usable code: an error of the provider, another issuer (`iss`, RFC 9207), or no code.
 * @returns `null` for a response whose code can be exchanged
 */
export function problemOf(query: CallbackQuery, { issuer }: ProviderRow): string | null {
  if (query.error !== undefined) return providerMessage(query) ?? "the provider refused";
  if (issuer !== null && query.iss !== undefined && !isSameIssuer(issuer, query.iss)) {
    return "the response came from another provider";
  }
  return query.code ? null : "the provider returned no code";
}

async function exchange(env: Env, row: AuthorizationRow, provider: ProviderRow, code: string) {
  const [access, code_verifier] = await Promise.all([
    openProvider(env, provider),
    decrypt(env, row, verifierOwner(row.id)),
  ]);
  return requestGrant(env, access, {
    grant_type: "authorization_code",
    code,
    redirect_uri: row.redirect_uri,
    ...(code_verifier !== "" && { code_verifier }),
  });
}

/** Revokes the grant of a provider that was deleted in the meantime. */
async function undo(env: Env, db: Database, row: AuthorizationRow, provider: ProviderRow) {
  const object = tokenObject(env, row.token_id);
  await object.revoke(row.token_id, await openProvider(env, provider));
  await object.delete();
  return fail(db, row, provider, "the provider was deleted");
}

async function fail(
  db: Database,
  row: AuthorizationRow,
  provider: ProviderRow,
  problem: string,
): Promise<CallbackOutcome> {
  await db
    .update(oauth_authorizations)
    .set({ status: "failed", error: problem, ciphertext: "" })
    .where(eq(oauth_authorizations.id, row.id));
  const message = `${provider.name} was not connected: ${problem}`;
  return { status: "failed", message, provider_name: provider.name };
}

export function unknownState(): CallbackOutcome {
  const message =
    "This link is no longer valid: it was used before, or it is older than ten minutes. Start again.";
  return { status: "failed", message, provider_name: null };
}
