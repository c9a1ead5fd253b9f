import { and, asc, eq, gt, lte, sql } from "drizzle-orm";
import { assertMay } from "../../shared/auth.ts";
import { type Context, database } from "../../shared/context.ts";
import { createLink, hashToken, tokenOfLink } from "../../shared/crypto/link-tokens.ts";
import { AppError } from "../../shared/errors.ts";
import { baseUrl } from "../../shared/http/base-url.ts";
import { newId } from "../../shared/storage/ids.ts";
import { inWorkspace } from "../../shared/storage/sql.ts";
import { feedback_tokens } from "../links/table.ts";
import { assertTraceRate } from "../rates.ts";
import {
  expiryOf,
  type FeedbackToken,
  type FeedbackTokenRequest,
  type FeedbackTokensQuery,
} from "./feedback-token-schema.ts";

const PURPOSE = "feedback-token";
/** Maximum number of expired tokens that one request deletes. */
const MAX_EXPIRED = 100;

/** Feedback that a token accepts. */
export type FeedbackGrant = {
  workspace_id: string;
  run_id: string;
  key: string;
  feedback_id: string;
};

/** Creates tokens. Deletes some expired ones of all workspaces, because no job does. */
export async function createFeedbackTokens(
  ctx: Context,
  requests: FeedbackTokenRequest[],
  origin: string,
): Promise<FeedbackToken[]> {
  assertMay(ctx, "write");
  assertTraceRate(ctx, "feedback");
  const { workspace_id } = ctx.caller;
  const now = new Date().toISOString();
  const made = await Promise.all(
    requests.map(async ({ run_id, feedback_key, id, ...expiry }) => {
      const { token, ...link } = await createLink(ctx.env, PURPOSE);
      const expires_at = new Date(expiryOf(expiry)).toISOString();
      const about = { workspace_id, run_id, key: feedback_key, feedback_id: id ?? newId() };
      return { token, row: { ...link, ...about, expires_at, created_at: now } };
    }),
  );
  const expired = ctx.db
    .select({ id: sql`rowid` })
    .from(feedback_tokens)
    .where(lte(feedback_tokens.expires_at, now))
    .limit(MAX_EXPIRED);
  await ctx.db.batch([
    ctx.db.delete(feedback_tokens).where(sql`rowid in ${expired}`),
    ...made.map(({ row }) => ctx.db.insert(feedback_tokens).values(row)),
  ]);
  return made.map(({ token, row }) => toToken(ctx, token, row.expires_at, origin));
}

/** Lists tokens that have not expired. Needs the right to write, because each token gives it. */
export async function listFeedbackTokens(
  ctx: Context,
  { run_id, limit, offset }: FeedbackTokensQuery,
  origin: string,
): Promise<FeedbackToken[]> {
  assertMay(ctx, "write");
  assertTraceRate(ctx, "read");
  const rows = await ctx.db
    .select()
    .from(feedback_tokens)
    .where(
      and(
        inWorkspace(ctx, feedback_tokens),
        eq(feedback_tokens.run_id, run_id),
        gt(feedback_tokens.expires_at, new Date().toISOString()),
      ),
    )
    .orderBy(asc(feedback_tokens.id))
    .limit(limit)
    .offset(offset);
  const tokens = await Promise.all(
    rows.map(async (row) => ({ row, token: await tokenOfLink(ctx.env, PURPOSE, row) })),
  );
  return tokens.flatMap(({ row, token }) =>
    token === null ? [] : [toToken(ctx, token, row.expires_at, origin)],
  );
}

/** Finds what a token grants. Not scoped to a workspace: the token is the credential. @throws AppError 403 */
export async function findFeedbackGrant(env: Env, token: string): Promise<FeedbackGrant> {
  const [row] = await database(env)
    .select()
    .from(feedback_tokens)
    .where(eq(feedback_tokens.token_hash, hashToken(token)));
  if (!row) throw new AppError("forbidden", "The URL does not exist, or expired long ago.");
  if (Date.parse(row.expires_at) > Date.now()) return row;
  throw new AppError("forbidden", "The URL has expired: create another token for the run.");
}

function toToken({ env }: Context, id: string, expires_at: string, origin: string): FeedbackToken {
  return { id, url: `${baseUrl(env, origin)}/api/v1/feedback/tokens/${id}`, expires_at };
}
