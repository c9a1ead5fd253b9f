import { decodeBytes, encodeBytes } from "../../shared/crypto/encoding.ts";

/** Subresource integrity as lockfiles write it: one or more `algorithm-base64`, the strongest counts. */

export type Integrity = { algorithm: "SHA-512" | "SHA-384" | "SHA-256" | "SHA-1"; hex: string };

const ALGORITHMS = [
  ["sha512", "SHA-512"],
  ["sha384", "SHA-384"],
  ["sha256", "SHA-256"],
  ["sha1", "SHA-1"],
] as const;

export function parseIntegrity(text: string | undefined): Integrity | null {
  const hashes = (text ?? "").split(/\s+/);
  for (const [prefix, algorithm] of ALGORITHMS) {
    const hash = hashes.find((candidate) => candidate.startsWith(`${prefix}-`));
    if (hash) return { algorithm, hex: toHex(hash.slice(prefix.length + 1).split("?")[0] ?? "") };
  }
  return null;
}

export async function matches(integrity: Integrity, bytes: Uint8Array): Promise<boolean> {
  const digest = await crypto.subtle.digest(integrity.algorithm, bytes);
  return encodeBytes(digest, "hex") === integrity.hex;
}

function toHex(base64: string): string {
  return encodeBytes(decodeBytes(base64, "base64"), "hex");
}
