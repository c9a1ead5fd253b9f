import type { LikePattern } from "./tree.ts";

/** Limit of SQLite on Cloudflare: 50 bytes in a LIKE pattern. */
const MAX_LIKE_BYTES = 48;

/** Returns `null` for a long pattern that text functions cannot replace. */
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

/** Lowers ASCII only, like SQLite's lower() and LIKE. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

const PIECE = /\\([\s\S])|([\s\S])/gu;

/** Splits at the % signs. Returns `null` when the pattern has a _. */
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
