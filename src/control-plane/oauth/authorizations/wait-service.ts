import { and, eq } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { AppError } from "../../../shared/errors.ts";
import { inWorkspace } from "../../../shared/storage/sql.ts";
import type { WaitResponse } from "../authorization-schema.ts";
import { ownerOf } from "../owner.ts";
import { toError } from "../storage/deletion.ts";
import { needProvider } from "../storage/rows.ts";
import { oauth_authorizations, oauth_tokens } from "../table.ts";
import { readToken } from "../tokens/token-service.ts";

const POLL_MS = 200;
const SLOWEST_POLL_MS = 1000;

/** Maximum number of waits of an owner in this isolate: after some seconds, each reads D1 once a second. */
const MAX_WAITS = 100;
const RETRY_AFTER_SECONDS = 10;
/**
 * Waits in this isolate by owner, with their ends: the platform cancels the request of a client that disconnects, and
 * does not run its `finally`.
 */
const waits = new Map<string, Set<{ until_ms: number }>>();

type AuthorizationRow = typeof oauth_authorizations.$inferSelect;

/** Returns when the authorization has ended, or after the timeout. */
export async function waitAuthorization(
  ctx: Context,
  auth_id: string,
  timeout_seconds: number,
): Promise<WaitResponse> {
  assertMay(ctx, "read");
  const owner = ownerOf(ctx.caller);
  const key = `${ctx.caller.workspace_id}/${owner}`;
  const own = waits.get(key) ?? new Set();
  for (const each of own) if (each.until_ms < Date.now()) own.delete(each);
  if (own.size >= MAX_WAITS) throw tooManyWaits();
  const wait = { until_ms: Date.now() + timeout_seconds * 1000 };
  waits.set(key, own.add(wait));
  try {
    return await poll(ctx, auth_id, owner, wait.until_ms);
  } finally {
    own.delete(wait);
    // When its time has passed, another call may have removed this wait above, and the map may hold another set.
    if (own.size === 0 && waits.get(key) === own) waits.delete(key);
  }
}

function tooManyWaits(): AppError {
  const text = `More than ${MAX_WAITS} waits at once: end some, or wait with a shorter timeout.`;
  return new AppError("rate_limited", text, { retry_after_seconds: RETRY_AFTER_SECONDS });
}

async function poll(
  ctx: Context,
  auth_id: string,
  owner: string,
  until: number,
): Promise<WaitResponse> {
  const isPoll = until <= Date.now();
  for (let pause = POLL_MS; ; pause = Math.min(pause * 1.2, SLOWEST_POLL_MS)) {
    const row = await findAuthorization(ctx, auth_id, owner);
    const ended = row ? await responseIfEnded(ctx, row) : waitResponse("not_found");
    if (ended !== null) return ended;
    if (Date.now() >= until) return waitResponse(isPoll ? "pending" : "timeout");
    await scheduler.wait(Math.min(pause, until - Date.now()));
  }
}

async function findAuthorization(ctx: Context, auth_id: string, owner: string) {
  const [row] = await ctx.db
    .select()
    .from(oauth_authorizations)
    .where(
      and(
        eq(oauth_authorizations.id, auth_id),
        inWorkspace(ctx, oauth_authorizations),
        eq(oauth_authorizations.owner, owner),
      ),
    );
  return row;
}

/** @returns `null` while the authorization is pending or exchanges its code */
async function responseIfEnded(ctx: Context, row: AuthorizationRow): Promise<WaitResponse | null> {
  if (row.status === "failed") return waitResponse("failed", row.error);
  if (row.status === "completed") return completedResponse(ctx, row);
  if (row.expires_at > new Date().toISOString()) return null;
  return waitResponse("failed", "The authorization expired: authenticate again.");
}

async function completedResponse(ctx: Context, row: AuthorizationRow): Promise<WaitResponse> {
  const [token] = await ctx.db
    .select()
    .from(oauth_tokens)
    .where(and(eq(oauth_tokens.id, row.token_id), inWorkspace(ctx, oauth_tokens)));
  if (!token) return waitResponse("not_found");
  const provider = await needProvider(ctx, row.provider_id);
  const answer = await readToken(ctx.env, ctx.db, token, provider);
  if (answer.ok) return { ...waitResponse("completed"), token: answer.access_token };
  if (answer.reason === "ended") return waitResponse("failed", answer.message);
  throw toError(answer);
}

function waitResponse(status: WaitResponse["status"], error: string | null = null): WaitResponse {
  return { status, token: null, error };
}
