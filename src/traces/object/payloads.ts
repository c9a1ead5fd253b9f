import { Buffer } from "node:buffer";
import { sha256Hex } from "../../shared/crypto/crypto.ts";
import type { AttachedFile } from "../changes.ts";
import {
  PAYLOADS,
  type Payload,
  type PayloadName,
  type RunChange,
  type StoredAttachment,
} from "../changes.ts";
import { MAX_INLINE_BYTES } from "../limits.ts";

const HASH_CHARS = 16;

/** Returns the prefix of a project's keys in R2. */
export function payloadPrefix(project_id: string): string {
  return `runs/${project_id}/`;
}

/** Moves payloads that do not fit a row to R2, before the rows refer to them. */
export async function storePayloads(
  env: Env,
  project_id: string,
  change: RunChange,
  files: AttachedFile[],
): Promise<RunChange> {
  const payloads = { ...change.payloads };
  for (const name of tooLong(change)) {
    const payload = payloads[name];
    if (payload && "text" in payload) {
      payloads[name] = await storeText(env, project_id, change.id, name, payload.text);
    }
  }
  const { id, kind, columns, tags, digest } = change;
  const attachments = await storeFiles(env, project_id, files);
  return {
    id,
    kind,
    columns,
    payloads,
    digest,
    ...(tags ? { tags } : {}),
    ...(files.length > 0 ? { attachments } : {}),
  };
}

function tooLong({ payloads }: RunChange): PayloadName[] {
  return PAYLOADS.filter((name) => {
    const payload = payloads[name];
    return payload && "text" in payload && byteLength(payload.text) > MAX_INLINE_BYTES;
  });
}

function byteLength(text: string): number {
  return text.length > MAX_INLINE_BYTES ? text.length : Buffer.byteLength(text);
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
  return { key, bytes: byteLength(text) };
}

async function storeFiles(
  env: Env,
  project_id: string,
  files: AttachedFile[],
): Promise<Record<string, StoredAttachment>> {
  const stored: Record<string, StoredAttachment> = {};
  for (const { run_id, name, content_type, data } of files) {
    const key = `${payloadPrefix(project_id)}${run_id}/attachments/${encodeURIComponent(name)}`;
    await env.ARTIFACTS.put(key, data, { httpMetadata: { contentType: content_type } });
    stored[name] = { key, content_type, bytes: data.byteLength };
  }
  return stored;
}

/** Returns the text of a payload in R2, `null` when it is deleted. */
export async function loadText(env: Env, key: string): Promise<string | null> {
  const object = await env.ARTIFACTS.get(key);
  return object === null ? null : object.text();
}
