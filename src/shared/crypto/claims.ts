import { z } from "zod";
import { decodeText, encodeText } from "./encoding.ts";
import { isSigned, sign } from "./signing.ts";

type Keys = { ENCRYPTION_KEYS: string };

/** Epoch seconds. */
const Expiring = z.looseObject({ expires: z.number() });

export const INVALID_CLAIM = "Invalid signature: use the URL unchanged.";

/** Returns a token for a URL. Its holder can read the claim, and cannot change it. */
export async function signClaim(
  env: Keys,
  purpose: string,
  claim: Record<string, string>,
  hours: number,
): Promise<string> {
  const expires = Math.floor(Date.now() / 1000) + hours * 3600;
  const text = encodeText(JSON.stringify({ ...claim, expires }), "base64url");
  const { key_id, signature } = await sign(env, purpose, text);
  return `${text}.${key_id}.${signature}`;
}

/** @returns `"invalid"` when the signature does not match, `"expired"` after the hours of the claim */
export async function openClaim<T extends z.ZodType>(
  env: Keys,
  purpose: string,
  token: string,
  schema: T,
): Promise<z.infer<T> | "invalid" | "expired"> {
  const [text = "", key_id = "", signature = ""] = token.split(".");
  if (!(await isSigned(env, purpose, text, { key_id, signature }))) return "invalid";
  const claim = Expiring.parse(JSON.parse(decodeText(text, "base64url")));
  return claim.expires * 1000 < Date.now() ? "expired" : schema.parse(claim);
}
