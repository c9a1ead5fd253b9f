import { createHash } from "node:crypto";
import { AppError } from "../errors.ts";
import { decodeBytes, encodeBytes, utf8 } from "./encoding.ts";

export type SealedText = { key_id: string; ciphertext: string };

type Keys = { ENCRYPTION_KEYS: string };
type Bytes = Uint8Array<ArrayBuffer>;
type Key = { key_id: string; bytes: Bytes };

const IV_BYTES = 12;
const KEY_BYTES = 32;
const ALPHANUMERIC = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** Largest multiple of 62 in a byte. Greater and equal bytes are skipped: they would make some letters more frequent. */
const UNBIASED = 248;

/** @param owner names the row of the ciphertext, which cannot be decrypted in another row */
export async function encrypt(env: Keys, text: string, owner: string): Promise<SealedText> {
  const [first] = parseKeys(env);
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const key = await importKey(first.bytes);
  const sealed = await crypto.subtle.encrypt(parameters(iv, owner), key, toBytes(text));
  const joined = new Uint8Array(IV_BYTES + sealed.byteLength);
  joined.set(iv);
  joined.set(new Uint8Array(sealed), IV_BYTES);
  return { key_id: first.key_id, ciphertext: encodeBytes(joined, "base64") };
}

export async function decrypt(env: Keys, sealed: SealedText, owner: string): Promise<string> {
  const found = parseKeys(env).find((key) => key.key_id === sealed.key_id);
  if (found === undefined) {
    throw misconfigured(`lacks the key "${sealed.key_id}", with which a stored value is encrypted`);
  }
  const joined = decodeBytes(sealed.ciphertext, "base64");
  const [iv, bytes] = [joined.slice(0, IV_BYTES), joined.slice(IV_BYTES)];
  const key = await importKey(found.bytes);
  try {
    return utf8.decode(await crypto.subtle.decrypt(parameters(iv, owner), key, bytes));
  } catch (error) {
    throw undecryptable(error);
  }
}

export function sha256Hex(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function randomToken(length: number): string {
  let token = "";
  while (token.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length))) {
      if (byte < UNBIASED && token.length < length) token += ALPHANUMERIC[byte % 62];
    }
  }
  return token;
}

function parameters(iv: Bytes, owner: string) {
  return { name: "AES-GCM", iv, additionalData: toBytes(owner) };
}

function importKey(bytes: Bytes) {
  return crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
}

/** Parses `kid:base64,kid2:base64`. The first key encrypts and signs, the others only decrypt and verify. */
export function parseKeys(env: Keys): [Key, ...Key[]] {
  const text: string | undefined = env.ENCRYPTION_KEYS;
  if (text === undefined || text.trim() === "") throw misconfigured("is not set");
  const [first = "", ...more] = text.split(",");
  return [toKey(first), ...more.map(toKey)];
}

function toKey(entry: string): Key {
  const [key_id = "", base64 = "", ...more] = entry.trim().split(":");
  const bytes = decodeBytes(base64, "base64");
  if (key_id === "" || more.length > 0 || bytes.byteLength !== KEY_BYTES) {
    throw misconfigured(`has an entry that is not <key id>:<${KEY_BYTES} bytes in base64>`);
  }
  return { key_id, bytes };
}

function undecryptable(cause: unknown): AppError {
  const text =
    "A stored value does not decrypt: it was altered, belongs to another row, or its key has changed.";
  return new AppError("internal", text, { cause });
}

function misconfigured(problem: string): AppError {
  const text = `ENCRYPTION_KEYS ${problem}: set it to <key id>:<32 bytes in base64>, comma-separated.`;
  return new AppError("internal", text);
}

function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
