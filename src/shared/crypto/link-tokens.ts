import { newId } from "../storage/ids.ts";
import { sha256Hex } from "./crypto.ts";
import { deriveSecrets } from "./signing.ts";

/** Row of a link. The token cannot be derived from a copy of the database: that takes a key of ENCRYPTION_KEYS. */
export type LinkRow = { id: string; token_hash: string };
type Keys = { ENCRYPTION_KEYS: string };

/** Splits the first 32 of the 64 hex digits of a secret into the parts of a UUID. */
const UUID_PARTS = /^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/;

/** Creates a token of 128 bits in the form of a UUID, which SDKs require. */
export async function createLink(env: Keys, purpose: string): Promise<LinkRow & { token: string }> {
  const id = newId();
  const [token = ""] = await tokensOf(env, purpose, id);
  return { id, token, token_hash: hashToken(token) };
}

/** @returns `null` when ENCRYPTION_KEYS no longer has the key with which the token was derived */
export async function tokenOfLink(
  env: Keys,
  purpose: string,
  { id, token_hash }: LinkRow,
): Promise<string | null> {
  const tokens = await tokensOf(env, purpose, id);
  return tokens.find((token) => hashToken(token) === token_hash) ?? null;
}

export function hashToken(token: string): string {
  return sha256Hex(token.toLowerCase());
}

async function tokensOf(env: Keys, purpose: string, id: string): Promise<string[]> {
  const secrets = await deriveSecrets(env, purpose, id);
  return secrets.map((secret) => secret.replace(UUID_PARTS, "$1-$2-$3-$4-$5"));
}
