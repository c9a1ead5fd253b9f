import { and, eq, sql } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { database } from "../../shared/context.ts";
import { decrypt, encrypt } from "../../shared/crypto/crypto.ts";
import { among } from "../../shared/storage/sql.ts";
import type { NamedSecretChange, SecretInput } from "./schema.ts";
import { secrets } from "./table.ts";

/** Returns the owner that a ciphertext is bound to: moved to another deployment or name, it does not decrypt. */
export function secretOwner(deployment_id: string, name: string): string {
  return `secret:${deployment_id}:${name}`;
}

export async function readSecrets(
  env: Env,
  deployment_id: string,
): Promise<Record<string, string>> {
  const rows = await database(env)
    .select()
    .from(secrets)
    .where(eq(secrets.deployment_id, deployment_id));
  const entries = rows.map(async (row) => {
    const value = await decrypt(env, row, secretOwner(deployment_id, row.name));
    return [row.name, value] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** `all` replaces the whole set. `some` sets or removes the named secrets. */
export type SecretsChange =
  | { all: readonly SecretInput[] }
  | { some: readonly NamedSecretChange[] };

/** Returns the names of the secrets whose values a change replaces, adds or removes. */
export async function changedNames(
  env: Env,
  deployment_id: string,
  change: SecretsChange,
): Promise<string[]> {
  const kept = await readSecrets(env, deployment_id);
  const named = "all" in change ? change.all : change.some;
  const next = new Map<string, string | null>(named.map(({ name, value }) => [name, value]));
  const removed = "all" in change ? Object.keys(kept) : [];
  const names = new Set([...removed, ...next.keys()]);
  return [...names].filter((name) => (kept[name] ?? null) !== (next.get(name) ?? null)).sort();
}

/** Returns statements for the batch of a change of the deployment. The inserts fail when it is being deleted. */
export async function writeSecrets(
  ctx: Context,
  deployment_id: string,
  change: SecretsChange,
  now: string,
) {
  const { workspace_id } = ctx.caller;
  const owner = sql`(
    select workspace_id from deployments
    where id = ${deployment_id} and workspace_id = ${workspace_id} and status = 'READY'
  )`;
  const isOurs = and(
    eq(secrets.deployment_id, deployment_id),
    eq(secrets.workspace_id, workspace_id),
  );
  const isRemoved =
    "all" in change ? isOurs : and(isOurs, among(secrets.name, removedBy(change.some)));
  const rows = ("all" in change ? change.all : change.some).flatMap(({ name, value }) =>
    value === null ? [] : [toRow(ctx, { deployment_id, name, value, now })],
  );
  const upserts = (await Promise.all(rows)).map(({ name, ...row }) =>
    ctx.db
      .insert(secrets)
      .values({ deployment_id, name, workspace_id: owner, ...row })
      .onConflictDoUpdate({ target: [secrets.deployment_id, secrets.name], set: row }),
  );
  return [ctx.db.delete(secrets).where(isRemoved), ...upserts];
}

function removedBy(changes: readonly NamedSecretChange[]): string[] {
  return changes.filter(({ value }) => value === null).map(({ name }) => name);
}

type NewSecret = SecretInput & { deployment_id: string; now: string };

async function toRow(ctx: Context, { deployment_id, name, value, now }: NewSecret) {
  const encrypted = await encrypt(ctx.env, value, secretOwner(deployment_id, name));
  return { name, ...encrypted, updated_at: now };
}
