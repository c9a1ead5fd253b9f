import { decodeText, encodeText } from "../../shared/crypto/encoding.ts";
import { invalid } from "../../shared/errors.ts";
import { isRecord } from "../../shared/guards.ts";
import type { Position } from "../reads/query.ts";

/** End of the last page, and the newest sequence at the first page. */
export type Cursor = Position & { max_seq: number };

export function writeCursor({ start_us, id, max_seq }: Cursor): string {
  return encodeText(JSON.stringify({ s: start_us, i: id, w: max_seq }), "base64url");
}

export function readCursor(text: string): Cursor {
  const value = parse(text);
  if (isRecord(value)) {
    const { s, i, w } = value;
    const isRight = Number.isSafeInteger(s) && Number.isSafeInteger(w) && typeof i === "string";
    if (isRight) return { start_us: Number(s), id: String(i), max_seq: Number(w) };
  }
  throw invalid(["body", "cursor"], "is invalid; send the cursor of the previous page, or none");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(decodeText(text, "base64url"));
  } catch {
    return null;
  }
}
