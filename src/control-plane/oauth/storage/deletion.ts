import { and, eq, ne } from "drizzle-orm";
import type { Context, Database } from "../../../shared/context.ts";
import { AppError } from "../../../shared/errors.ts";
import { hasSome } from "../../../shared/storage/sql.ts";
import { RETRY_AFTER_SECONDS } from "../client/grants.ts";
import type { ProviderFailure } from "../client/provider-access.ts";
import type { RevocationResult } from "../client/revoke.ts";
import {
  oauth_authorizations,
  oauth_connections,
  oauth_providers,
  oauth_tokens,
} from "../table.ts";
import { openProvider, type ProviderRow } from "./rows.ts";
import { tokenObject } from "./stub.ts";

export type RevocationOutcome = RevocationResult["outcome"];

/**
 * Revokes a token at its provider, then deletes its grant and its rows. Each step is idempotent.
 * @returns a failure, with the token kept, when the provider does not revoke it
 */
export async function deleteOne(
  env: Env,
  db: Database,
  token_id: string,
  provider: ProviderRow,
): Promise<{ ok: true; outcome: RevocationOutcome } | ProviderFailure> {
  const access = await openProvider(env, provider);
  const answer = await tokenObject(env, token_id).revoke(token_id, access);
  if (!answer.ok) return answer;
  await rememberRevocation(db, provider, answer.revocation_url);
  await dropRows(db, token_id);
  // A consent that ended during the deletion may have stored another grant, and its row is deleted too.
  if (!(await hasSome(db, oauth_tokens, eq(oauth_tokens.id, token_id)))) {
    await tokenObject(env, token_id).revoke(token_id, access);
  }
  return { ok: true, outcome: answer.outcome };
}

export type Counts = { revoked: number; not_revoked: number };

/** Revokes and deletes every token, even when one fails. @throws the first failure at the end */
export async function deleteMany(
  ctx: Context,
  tokens: readonly { id: string; provider: ProviderRow }[],
): Promise<Counts> {
  const counts = { revoked: 0, not_revoked: 0 };
  const failures: ProviderFailure[] = [];
  for (const { id, provider } of tokens) {
    const answer = await deleteOne(ctx.env, ctx.db, id, provider);
    if (!answer.ok) {
      failures.push(answer);
      continue;
    }
    auditDeletion(ctx, id);
    counts[answer.outcome === "revoked" ? "revoked" : "not_revoked"] += 1;
  }
  const [first] = failures;
  if (first) throw toError(first);
  return counts;
}

/** Names a deleted token in the audit log, also when a later deletion fails. */
export function auditDeletion(ctx: Context, token_id: string): void {
  ctx.audited ??= [];
  ctx.audited.push({ name: "token_id", id: token_id });
}

/** Deletes a token without revocation, because its provider refuses to revoke it. */
export async function deleteUnrevoked(env: Env, db: Database, token_id: string): Promise<void> {
  await tokenObject(env, token_id).delete();
  await dropRows(db, token_id);
}

/** Deletes the rows of a token. Keeps an authorization that exchanges its code: its grant may have no other row yet. */
async function dropRows(db: Database, token_id: string): Promise<void> {
  const isOver = and(
    eq(oauth_authorizations.token_id, token_id),
    ne(oauth_authorizations.status, "exchanging"),
  );
  await db.batch([
    db.delete(oauth_connections).where(eq(oauth_connections.oauth_token_id, token_id)),
    db.delete(oauth_authorizations).where(isOver),
    db.delete(oauth_tokens).where(eq(oauth_tokens.id, token_id)),
  ]);
}

async function rememberRevocation(
  db: Database,
  provider: ProviderRow,
  revocation_url: string | null,
): Promise<void> {
  const isKnown = revocation_url === null || revocation_url === provider.revocation_url;
  if (isKnown || provider.provider_type !== null) return;
  await db
    .update(oauth_providers)
    .set({ revocation_url })
    .where(
      and(eq(oauth_providers.id, provider.id), eq(oauth_providers.token_url, provider.token_url)),
    );
}

export function toError(failure: ProviderFailure): AppError {
  if (failure.reason === "unavailable") {
    return new AppError("unavailable", failure.message, {
      retry_after_seconds: failure.retry_after_seconds ?? RETRY_AFTER_SECONDS,
    });
  }
  return new AppError("conflict", failure.message);
}
