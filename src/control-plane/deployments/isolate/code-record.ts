import { decrypt, encrypt, type SealedText } from "../../../shared/crypto/crypto.ts";
import { log } from "../../../shared/log.ts";
import { deleteBelow } from "../../../shared/storage/objects-below.ts";

/** Identifies the code of an isolate. A change of the secrets leads to another isolate. */
export type CodeKey = { deployment_id: string; revision_id: string; secrets_version: number };
/** Input for loading an isolate, beside the artifact itself. */
export type CodeRecord = { artifact_key: string; variables: Record<string, string> };

type StoredRecord = SealedText & Pick<CodeKey, "secrets_version">;

/** Stores a copy of the record in R2, encrypted, for loads while D1 does not answer. Best effort. */
export async function putCodeRecord(env: Env, key: CodeKey, record: CodeRecord): Promise<void> {
  try {
    const sealed = await encrypt(env, JSON.stringify(record), ownerOf(key));
    const { secrets_version } = key;
    const stored: StoredRecord = { secrets_version, ...sealed };
    await env.ARTIFACTS.put(objectKeyOf(key), JSON.stringify(stored));
  } catch (error) {
    // The next load writes it again.
    log.warn("code_record_not_written", { revision_id: key.revision_id, error: String(error) });
  }
}

/** @returns `null` without a record of these secrets */
export async function readCodeRecord(env: Env, key: CodeKey): Promise<CodeRecord | null> {
  const object = await env.ARTIFACTS.get(objectKeyOf(key));
  const stored = await object?.json<StoredRecord>();
  if (stored?.secrets_version !== key.secrets_version) return null;
  return JSON.parse(await decrypt(env, stored, ownerOf(key))) as CodeRecord;
}

/** Deletes one page of the records of a deployment. @returns whether none remain */
export function deleteCodeRecords(env: Env, deployment_id: string): Promise<boolean> {
  return deleteBelow(env.ARTIFACTS, prefixOf(deployment_id));
}

function prefixOf(deployment_id: string): string {
  return `code/${deployment_id}/`;
}

function objectKeyOf({ deployment_id, revision_id }: CodeKey): string {
  return `${prefixOf(deployment_id)}${revision_id}.json`;
}

function ownerOf({ deployment_id, revision_id, secrets_version }: CodeKey): string {
  return `code:${deployment_id}:${revision_id}:${secrets_version}`;
}
