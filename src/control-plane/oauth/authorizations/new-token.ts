import { and, eq, ne, sql } from "drizzle-orm";
import type { Database } from "../../../shared/context.ts";
import { isForeignKeyViolation } from "../../../shared/storage/sql.ts";
import type { Grant } from "../client/provider-access.ts";
import { oauth_authorizations, oauth_tokens } from "../table.ts";

export type AuthorizationRow = typeof oauth_authorizations.$inferSelect;

/** Writes the row of a grant that its object has stored. @returns `false` when its provider was deleted */
export async function saveToken(
  db: Database,
  row: AuthorizationRow,
  grant: Grant,
): Promise<boolean> {
  const now = new Date().toISOString();
  const { workspace_id, oauth_provider_id, provider_id, owner, subject, agent_id } = row;
  const values = {
    scopes: grant.scopes ?? row.scopes,
    requested_scopes: row.scopes,
    expires_at: grant.expires_at,
    is_default: row.is_default,
    // Marks the token for the next sweep, because the owner may have left during the consent.
    left_at: now,
    updated_at: now,
  };
  const label = grant.account_label;
  // A renewal keeps the label that the token has.
  const kept_label = sql`coalesce(${oauth_tokens.provider_account_label}, ${label})`;
  const whose = { workspace_id, oauth_provider_id, provider_id, owner, subject, agent_id };
  const insert = db
    .insert(oauth_tokens)
    .values({
      id: row.token_id,
      ...whose,
      ...values,
      provider_account_label: label,
      created_at: now,
    })
    .onConflictDoUpdate({
      target: oauth_tokens.id,
      set: { ...values, provider_account_label: kept_label },
    });
  const end = db
    .update(oauth_authorizations)
    .set({ status: "completed", ciphertext: "" })
    .where(eq(oauth_authorizations.id, row.id));
  try {
    await (row.is_default
      ? db.batch([insert, end, clearOtherDefaults(db, row)])
      : db.batch([insert, end]));
    return true;
  } catch (error) {
    if (isForeignKeyViolation(error)) return false;
    throw error;
  }
}

function clearOtherDefaults(
  db: Database,
  row: Pick<
    AuthorizationRow,
    "workspace_id" | "owner" | "subject" | "oauth_provider_id" | "token_id"
  >,
) {
  return db
    .update(oauth_tokens)
    .set({ is_default: false })
    .where(
      and(
        eq(oauth_tokens.workspace_id, row.workspace_id),
        eq(oauth_tokens.owner, row.owner),
        eq(oauth_tokens.subject, row.subject),
        eq(oauth_tokens.oauth_provider_id, row.oauth_provider_id),
        ne(oauth_tokens.id, row.token_id),
      ),
    );
}
