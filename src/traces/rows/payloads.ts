import { Buffer } from "node:buffer";
import { sha256Hex } from "../../shared/crypto/crypto.ts";
import { utf8 } from "../../shared/crypto/encoding.ts";
import type { AttachedFile, Digest, KeptDigest, PairSource } from "../changes.ts";
import {
  PAYLOADS,
  type Payload,
  type PayloadName,
  type RunChange,
  type StoredAttachment,
} from "../changes.ts";
import { indexedPairs, searchTextOf } from "../digest.ts";
import { MAX_INLINE_BYTES } from "../limits.ts";

const HASH_CHARS = 16;
/** Longer names are hashed: R2 limits keys to 1024 bytes, of which everything before the name takes 91. */
const MAX_FILE_NAME = 900;
/** Maximum number of bytes that a UTF-16 character takes in UTF-8. */
const UTF8_BYTES = 3;

/** Returns the prefix of a project's keys in R2. */
export function payloadPrefix(project_id: string): string {
  return `runs/${project_id}/`;
}

/** Stores attached files and payloads that are too long for a row in R2, before rows refer to them. */
export async function storePayloads(
  env: Env,
  project_id: string,
  change: RunChange,
  files: AttachedFile[],
): Promise<RunChange> {
  const long = tooLong(change);
  if (long.length === 0 && files.length === 0) return change;
  const [payloads, digest] = [{ ...change.payloads }, { ...change.digest }];
  for (const name of long) {
    const payload = payloads[name];
    if (payload === undefined || "key" in payload) continue;
    keepTexts(digest, name, payload.text);
    payloads[name] = await storeText(env, project_id, change.id, name, payload.text);
  }
  const attachments = await storeFiles(env, project_id, files);
  return { ...change, payloads, digest, ...(files.length > 0 ? { attachments } : {}) };
}

const SOURCES = { extra: "m", inputs: "i", outputs: "o" } as const;

/** Adds what filters and search read to the digest of a payload: its text is in R2, and no partition has it. */
function keepTexts(digest: Digest, name: PayloadName, text: string): void {
  if (name !== "extra" && name !== "inputs" && name !== "outputs") return;
  const one = digest[name];
  if (one === undefined) return;
  Object.assign(digest, { [name]: { ...one, kept: keptOf(SOURCES[name], text, one.keys) } });
}

function keptOf(of: PairSource, text: string, keys: number): KeptDigest {
  const value: unknown = JSON.parse(text);
  const pairs = indexedPairs(of, value, keys);
  return of === "m" ? { pairs } : { pairs, search: searchTextOf(value) };
}

function tooLong({ payloads }: RunChange): PayloadName[] {
  return PAYLOADS.filter((name) => {
    const payload = payloads[name];
    return payload && "text" in payload && isTooLong(payload.text);
  });
}

/** Counts the bytes only of texts near the limit. For all others the number of characters decides. */
function isTooLong(text: string): boolean {
  if (text.length > MAX_INLINE_BYTES) return true;
  return text.length * UTF8_BYTES > MAX_INLINE_BYTES && Buffer.byteLength(text) > MAX_INLINE_BYTES;
}

/** Stores under a key derived from the content: a repeated request writes the same object. */
async function storeText(
  env: Env,
  project_id: string,
  run_id: string,
  name: PayloadName,
  text: string,
): Promise<Payload> {
  const hash = sha256Hex(text).slice(0, HASH_CHARS);
  const key = `${payloadPrefix(project_id)}${run_id}/${name}-${hash}.json`;
  await env.ARTIFACTS.put(key, text, { httpMetadata: { contentType: "application/json" } });
  return { key, bytes: Buffer.byteLength(text) };
}

async function storeFiles(
  env: Env,
  project_id: string,
  files: AttachedFile[],
): Promise<Record<string, StoredAttachment>> {
  const stored: Record<string, StoredAttachment> = {};
  for (const { run_id, name, content_type, data } of files) {
    const key = `${payloadPrefix(project_id)}${run_id}/attachments/${fileName(name)}`;
    await env.ARTIFACTS.put(key, data, { httpMetadata: { contentType: content_type } });
    stored[name] = { key, content_type, bytes: data.byteLength };
  }
  return stored;
}

function fileName(name: string): string {
  const encoded = encodeURIComponent(name);
  return encoded.length <= MAX_FILE_NAME ? encoded : sha256Hex(name);
}

/** Returns the text of a payload in R2, `null` when it is deleted. */
export async function loadText(env: Env, key: string): Promise<string | null> {
  const object = await env.ARTIFACTS.get(key);
  return object === null ? null : object.text();
}

/**
 * Returns the first characters of a payload in R2, `null` when it is deleted. Reads at most three bytes a character.
 */
export async function loadBeginning(
  env: Env,
  key: string,
  max_chars: number,
): Promise<string | null> {
  const range = { offset: 0, length: max_chars * UTF8_BYTES };
  const object = await env.ARTIFACTS.get(key, { range });
  return object === null ? null : copyBeginning(utf8.decode(await object.arrayBuffer()), max_chars);
}

/** Copies the first characters of a text: a slice would keep the whole text in memory. */
export function copyBeginning(text: string, max_chars: number): string {
  return utf8.decode(Buffer.from(text.slice(0, max_chars)));
}
