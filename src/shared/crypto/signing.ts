import { createHash, timingSafeEqual } from "node:crypto";
import { parseKeys } from "./crypto.ts";
import { decodeBytes, encodeBytes } from "./encoding.ts";

// HMAC-SHA256. Except in `isSignedWith`, the keys are derived from ENCRYPTION_KEYS for one purpose each.

export type Signature = { key_id: string; signature: string };
type Keys = { ENCRYPTION_KEYS: string };
type Bytes = Uint8Array<ArrayBuffer>;

export async function sign(env: Keys, purpose: string, text: string): Promise<Signature> {
  const { key_id, bytes } = parseKeys(env)[0];
  const key = await deriveKey(bytes, purpose);
  const signed = await crypto.subtle.sign("HMAC", key, toBytes(text));
  return { key_id, signature: encodeBytes(signed, "hex") };
}

/** Compares in constant time. Keys that are no longer first still verify. */
export async function isSigned(
  env: Keys,
  purpose: string,
  text: string,
  { key_id, signature }: Signature,
): Promise<boolean> {
  const found = parseKeys(env).find((key) => key.key_id === key_id);
  if (found === undefined || !/^([0-9a-f]{2})+$/.test(signature)) return false;
  const key = await deriveKey(found.bytes, purpose);
  return crypto.subtle.verify("HMAC", key, decodeBytes(signature, "hex"), toBytes(text));
}

/** Derives texts that only this installation can derive: the first with the current key, the others with earlier keys. */
export async function deriveSecrets(env: Keys, purpose: string, text: string): Promise<string[]> {
  return Promise.all(
    parseKeys(env).map(async ({ bytes }) => {
      const key = await deriveKey(bytes, purpose);
      const signed = await crypto.subtle.sign("HMAC", key, toBytes(text));
      return encodeBytes(signed, "hex");
    }),
  );
}

/** Compares in constant time. `signature` is hex, as repository hosts send it. */
export async function isSignedWith(
  secret: string,
  text: string,
  signature: string,
): Promise<boolean> {
  if (!/^[0-9a-f]{64}$/.test(signature)) return false;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", toBytes(secret), algorithm, false, ["verify"]);
  return crypto.subtle.verify("HMAC", key, decodeBytes(signature, "hex"), toBytes(text));
}

/** Compares in constant time, also for different lengths. */
export function isSameSecret(one: string, other: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** Derives a key for one purpose, because the key that encrypts must not sign. */
async function deriveKey(bytes: Bytes, purpose: string): Promise<CryptoKey> {
  const root = await crypto.subtle.importKey("raw", bytes, "HKDF", false, ["deriveKey"]);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: toBytes(""), info: toBytes(purpose) };
  const algorithm = { name: "HMAC", hash: "SHA-256", length: 256 };
  return crypto.subtle.deriveKey(derivation, root, algorithm, false, ["sign", "verify"]);
}

function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
