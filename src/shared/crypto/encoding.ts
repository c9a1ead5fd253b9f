import { Buffer } from "node:buffer";

// Typed wrappers of `Buffer`, which the types of the runtime declare as `any`.

/** Keeps a byte order mark, which is a character of the text. */
export const utf8 = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

type Encoding = "base64" | "base64url" | "hex";

export function encodeBytes(bytes: ArrayBuffer | Uint8Array, encoding: Encoding): string {
  return Buffer.from(bytes as ArrayBuffer).toString(encoding);
}

export function encodeText(text: string, encoding: Encoding): string {
  return Buffer.from(text).toString(encoding);
}

/** Skips characters that base64 does not have. Hex ends at the first pair that is not hex. */
export function decodeBytes(text: string, encoding: Encoding): Uint8Array<ArrayBuffer> {
  return Buffer.from(text, encoding);
}

/** Treats other characters as `decodeBytes` does. */
export function decodeText(text: string, encoding: Encoding): string {
  return Buffer.from(text, encoding).toString();
}
