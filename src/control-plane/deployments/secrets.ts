import { and, eq, sql } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { database } from "../../shared/context.ts";
import { decrypt, encrypt } from "../../shared/crypto/crypto.ts";
import type { SecretInput } from "./schema.ts";
import { secrets } from "./table.ts";

/** Ties a ciphertext to its place: moved to another deployment or name it does not decrypt. */
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

/** Statements that make `input` the whole set, in the batch of their deployment. They fail once that is being deleted. */
export async function replaceSecrets(
  ctx: Context,
  deployment_id: string,
  input: readonly SecretInput[],
  now: string,
) {
  const { workspace_id } = ctx.caller;
  const owner = sql`(
    select workspace_id from deployments
    where id = ${deployment_id} and workspace_id = ${workspace_id} and status = 'READY'
  )`;
  const rows = input.map(async ({ name, value }) => ({
    deployment_id,
    name,
    workspace_id: owner,
    updated_at: now,
    ...(await encrypt(ctx.env, value, secretOwner(deployment_id, name))),
  }));
  const inserts = (await Promise.all(rows)).map((row) => ctx.db.insert(secrets).values(row));
  const isOurs = and(
    eq(secrets.deployment_id, deployment_id),
    eq(secrets.workspace_id, workspace_id),
  );
  return [ctx.db.delete(secrets).where(isOurs), ...inserts];
}
