import { Buffer } from "node:buffer";

const ESCAPE_BYTES = 6;
const BACKSLASH = 0x5c;
const REPLACEMENT = "\\ufffd";
const HIGH = /^\\u[dD][89abAB][0-9a-fA-F]{2}$/;
const LOW = /^\\u[dD][c-fC-F][0-9a-fA-F]{2}$/;

/**
 * Replaces escapes of half a surrogate pair in JSON texts, in place, by the escape of U+FFFD, which has the same length.
 * JavaScript reads and writes half a pair. Other readers refuse a text with one as malformed.
 */
export function replaceLoneSurrogates(texts: Uint8Array): void {
  const bytes = Buffer.from(texts.buffer, texts.byteOffset, texts.byteLength);
  for (const start of ["\\ud", "\\uD"]) {
    for (let at = bytes.indexOf(start); at !== -1; at = bytes.indexOf(start, at + 1)) {
      if (isLone(bytes, at)) bytes.write(REPLACEMENT, at, "latin1");
    }
  }
}

function isLone(bytes: Buffer, at: number): boolean {
  if (!isEscape(bytes, at)) return false;
  const code = escapeAt(bytes, at);
  if (HIGH.test(code)) return !LOW.test(escapeAt(bytes, at + ESCAPE_BYTES));
  const isPaired =
    HIGH.test(escapeAt(bytes, at - ESCAPE_BYTES)) && isEscape(bytes, at - ESCAPE_BYTES);
  return LOW.test(code) && !isPaired;
}

/** Whether the backslash is not itself escaped. */
function isEscape(bytes: Buffer, at: number): boolean {
  let first = at;
  while (bytes[first - 1] === BACKSLASH) first -= 1;
  return (at - first) % 2 === 0;
}

function escapeAt(bytes: Buffer, at: number): string {
  return at < 0 ? "" : bytes.toString("latin1", at, at + ESCAPE_BYTES);
}
