import type { LikePattern } from "./tree.ts";

/** SQLite refuses LIKE patterns of more bytes, here as on the platform. */
const MAX_LIKE_BYTES = 48;

/** Null for a long pattern that plain text functions cannot stand in for. */
export function readLikePattern(text: string): LikePattern | null {
  if (new TextEncoder().encode(text).length <= MAX_LIKE_BYTES) return { kind: "short", text };
  const pieces = splitPattern(text);
  if (pieces === null) return null;
  const [start = "", ...rest] = pieces;
  const end = rest.pop();
  if (end === undefined) return { kind: "exact", text: start };
  const middles = rest.filter((piece) => piece !== "");
  if (middles.length > 1) return null;
  return { kind: "around", start, middle: middles[0] ?? "", end };
}

/** SQLite's lower() and LIKE know the letters of ASCII; both sides of a comparison must agree. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

const PIECE = /\\([\s\S])|([\s\S])/gu;

/** The texts between the % signs; null when there is a _, which stands for any one character. */
function splitPattern(text: string): string[] | null {
  const pieces: string[] = [];
  let piece = "";
  for (const [, escaped, plain] of lowerAscii(text).matchAll(PIECE)) {
    if (plain === "_") return null;
    if (plain === "%") {
      pieces.push(piece);
      piece = "";
    } else {
      piece += escaped ?? plain ?? "";
    }
  }
  return [...pieces, piece];
}
