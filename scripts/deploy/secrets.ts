import { randomBytes } from "node:crypto";
import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { DeployError } from "./problems.ts";

/** Refuses new keys for a database that is in use: they cannot decrypt what the missing ones encrypted. */
export async function assertKeysMayBeCreated(file: string, has_workspace: boolean): Promise<void> {
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  if (isThere || !has_workspace) return;
  throw new DeployError(
    `The Worker has no ENCRYPTION_KEYS, and the database is in use: new keys could not decrypt what it holds. ` +
      `Write ENCRYPTION_KEYS=<the keys of this database> to ${file}, and run the command again.`,
  );
}

/** Writes new keys for the first deployment. Keys that exist are kept. */
export async function createKeys(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const text = `ENCRYPTION_KEYS=k1:${randomBytes(32).toString("base64")}\n`;
  await writeFile(file, text, { flag: "wx", mode: 0o600 }).catch(async (error) => {
    if (error.code !== "EEXIST") throw error;
    if (/^ENCRYPTION_KEYS=./m.test(await readFile(file, "utf8"))) return;
    throw new DeployError(`${file} must have the line ENCRYPTION_KEYS=<keys>, or must not exist.`);
  });
}
