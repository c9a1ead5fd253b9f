import { decodeBytes, encodeBytes } from "../../shared/crypto/encoding.ts";

/** Returns the beginning of the text to sign, before the body. */
export function signedStart(id: string, sent_at: Date): string {
  return `${id}.${toTimestamp(sent_at)}.`;
}

/**
 * Returns the headers of Standard Webhooks (standardwebhooks.com), with one signature for each secret. All attempts
 * have the same id, so that receivers can deduplicate. `signed`: the text to sign, `signedStart` and then the body.
 */
export async function signedHeaders(
  id: string,
  sent_at: Date,
  signed: Uint8Array,
  secrets: string[],
): Promise<Record<string, string>> {
  const signatures = await Promise.all(secrets.map((secret) => sign(secret, signed)));
  return {
    "webhook-id": id,
    "webhook-timestamp": toTimestamp(sent_at),
    "idempotency-key": id,
    ...(signatures.length > 0 && { "webhook-signature": signatures.join(" ") }),
  };
}

function toTimestamp(sent_at: Date): string {
  return String(Math.floor(sent_at.getTime() / 1000));
}

async function sign(secret: string, text: Uint8Array): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const bytes = decodeBytes(secret.slice("whsec_".length), "base64");
  const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", key, text);
  return `v1,${encodeBytes(signature, "base64")}`;
}

export function newSecret(): string {
  return `whsec_${encodeBytes(crypto.getRandomValues(new Uint8Array(32)), "base64")}`;
}
