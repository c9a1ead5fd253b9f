import { decodeText, encodeText } from "../crypto/encoding.ts";
import { isRecord } from "../guards.ts";

export function encodeCursor(position: Record<string, unknown>): string {
  return encodeText(JSON.stringify(position), "base64url");
}

/** Returns the fields of a cursor, none of them when it is malformed. */
export function decodeCursor(cursor: string): Record<string, unknown> {
  try {
    const position: unknown = JSON.parse(decodeText(cursor, "base64url"));
    return isRecord(position) ? position : {};
  } catch {
    return {};
  }
}
