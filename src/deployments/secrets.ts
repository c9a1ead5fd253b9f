import { eq } from "drizzle-orm";
import { database } from "../shared/context.ts";
import { decrypt } from "../shared/crypto.ts";
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
