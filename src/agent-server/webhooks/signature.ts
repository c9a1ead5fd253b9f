import { decodeBytes, encodeBytes } from "../../shared/crypto/encoding.ts";

const encoder = new TextEncoder();

/**
 * Returns the headers of Standard Webhooks (standardwebhooks.com), one signature for each secret. All attempts
 * have the same id, so that receivers can deduplicate.
 */
export async function signedHeaders(
  id: string,
  sent_at: Date,
  body: string,
  secrets: string[],
): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(sent_at.getTime() / 1000));
  const text = encoder.encode(`${id}.${timestamp}.${body}`);
  const signatures = await Promise.all(secrets.map((secret) => sign(secret, text)));
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "idempotency-key": id,
    ...(signatures.length > 0 && { "webhook-signature": signatures.join(" ") }),
  };
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
