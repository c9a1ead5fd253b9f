import { type AnyColumn, eq, sql } from "drizzle-orm";
import type { z } from "zod";
import { assertMay } from "../../shared/auth.ts";
import { type Context, database } from "../../shared/context.ts";
import { decrypt, encrypt } from "../../shared/crypto/crypto.ts";
import { OVERLAP_MS } from "./limits.ts";
import { type SecretChange, SecretSet, SecretState } from "./schema.ts";
import { newSecret } from "./signature.ts";
import { webhook_secrets } from "./table.ts";

/** A change within this time after another one counts as its repetition. */
const REPEAT_MS = 5 * 60 * 1000;

type Row = typeof webhook_secrets.$inferSelect;

export async function getWebhookSecret(ctx: Context): Promise<z.infer<typeof SecretState>> {
  assertMay(ctx, "read");
  return SecretState.parse(toState(await find(ctx.env, ctx.caller.workspace_id)));
}

/**
 * Sets the secret. The previous secret signs too for a day, so that receivers can replace theirs. Of two changes within
 * `REPEAT_MS`, the second keeps the previous secret of the first one: receivers have it, and may not know the secret of
 * the first change, as its response may have been lost.
 */
export async function setWebhookSecret(
  ctx: Context,
  { secret }: SecretChange,
): Promise<z.infer<typeof SecretSet>> {
  assertMay(ctx, "admin");
  const { workspace_id } = ctx.caller;
  const [before] = secret ? await signingSecrets(ctx.env, workspace_id, new Date()) : [];
  // The secret is set already. Setting it again would replace the previous secret by the current one.
  if (before !== undefined && before === secret) {
    return SecretSet.parse({ ...(await getWebhookSecret(ctx)), secret: null });
  }
  const made = secret ? null : newSecret();
  const sealed = await encrypt(ctx.env, made ?? secret ?? "", ownerOf(workspace_id));
  const now = new Date();
  const current = { ...sealed, updated_at: now.toISOString() };
  const repeat_after = new Date(now.getTime() - REPEAT_MS).toISOString();
  const { previous_valid_until, updated_at } = webhook_secrets;
  const isRepeated = sql`(${previous_valid_until} > ${current.updated_at} AND ${updated_at} > ${repeat_after})`;
  const kept = (previous: AnyColumn, next: AnyColumn | string) =>
    sql`iif(${isRepeated}, ${previous}, ${next})`;
  const [row] = await ctx.db
    .insert(webhook_secrets)
    .values({ workspace_id, ...current })
    .onConflictDoUpdate({
      target: webhook_secrets.workspace_id,
      set: {
        ...current,
        previous_key_id: kept(webhook_secrets.previous_key_id, webhook_secrets.key_id),
        previous_ciphertext: kept(webhook_secrets.previous_ciphertext, webhook_secrets.ciphertext),
        previous_valid_until: kept(
          previous_valid_until,
          new Date(now.getTime() + OVERLAP_MS).toISOString(),
        ),
      },
    })
    .returning();
  return SecretSet.parse({ ...toState(row), secret: made });
}

/** Deletes the secret and the previous one. Later attempts are not signed. */
export async function deleteWebhookSecret(ctx: Context): Promise<void> {
  assertMay(ctx, "admin");
  const { workspace_id } = ctx.caller;
  await ctx.db.delete(webhook_secrets).where(eq(webhook_secrets.workspace_id, workspace_id));
}

/** Returns the secrets that sign now, newest first. */
export async function signingSecrets(env: Env, workspace_id: string, now: Date): Promise<string[]> {
  const row = await find(env, workspace_id);
  if (!row) return [];
  const { previous_key_id, previous_ciphertext, previous_valid_until } = row;
  const sealed = [{ key_id: row.key_id, ciphertext: row.ciphertext }];
  if (previous_key_id && previous_ciphertext && isLater(previous_valid_until, now)) {
    sealed.push({ key_id: previous_key_id, ciphertext: previous_ciphertext });
  }
  return Promise.all(sealed.map((one) => decrypt(env, one, ownerOf(workspace_id))));
}

async function find(env: Env, workspace_id: string): Promise<Row | undefined> {
  const [row] = await database(env)
    .select()
    .from(webhook_secrets)
    .where(eq(webhook_secrets.workspace_id, workspace_id));
  return row;
}

function toState(row: Row | undefined) {
  const valid_until = row?.previous_valid_until ?? null;
  return {
    is_set: row !== undefined,
    updated_at: row?.updated_at ?? null,
    previous_valid_until: isLater(valid_until, new Date()) ? valid_until : null,
  };
}

function isLater(time: string | null, now: Date): boolean {
  return time !== null && time > now.toISOString();
}

/** Returns the owner, which the encryption authenticates: the ciphertext is valid in its own row only. */
export function ownerOf(workspace_id: string): string {
  return `webhook-secret:${workspace_id}`;
}
