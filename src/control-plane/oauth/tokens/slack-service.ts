import { and, eq } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { inWorkspace } from "../../../shared/storage/sql.ts";
import { deleteMany } from "../storage/deletion.ts";
import { oauth_providers, oauth_tokens } from "../table.ts";
import type { TokenExists } from "../token-schema.ts";

/** Returns whether any user or service key of the workspace has a token of a provider with the type `slack`. */
export async function hasSlackToken(ctx: Context): Promise<TokenExists> {
  assertMay(ctx, "read");
  return { has_token: (await slackTokens(ctx).limit(1)).length > 0 };
}

export async function deleteSlackTokens(
  ctx: Context,
): Promise<{ message: string; revoked: number; not_revoked: number }> {
  assertMay(ctx, "admin");
  const rows = await slackTokens(ctx);
  const tokens = rows.map(({ provider, token }) => ({ id: token.id, provider }));
  const counts = await deleteMany(ctx, tokens);
  return { message: "Slack tokens of the workspace deleted.", ...counts };
}

function slackTokens(ctx: Context) {
  return ctx.db
    .select({ provider: oauth_providers, token: oauth_tokens })
    .from(oauth_tokens)
    .innerJoin(oauth_providers, eq(oauth_providers.id, oauth_tokens.oauth_provider_id))
    .where(and(inWorkspace(ctx, oauth_tokens), eq(oauth_providers.provider_type, "slack")));
}
