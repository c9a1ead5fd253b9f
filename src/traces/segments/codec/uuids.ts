import { sha256Hex } from "../../../shared/crypto/crypto.ts";

export const ID_BYTES = 16;
export const ID_CHARS = 36;
/** 32-bit words of a key. */
export const KEY_WORDS = 4;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const [DASH, NINE] = [45, 57];
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Writes the bytes of a UUID, whose text is in lower case. */
export function writeUuid(text: string, bytes: Uint8Array, at: number): void {
  let to = at;
  for (let from = 0; from < ID_CHARS; from += 2) {
    if (text.charCodeAt(from) === DASH) from += 1;
    bytes[to] = (digitOf(text.charCodeAt(from)) << 4) | digitOf(text.charCodeAt(from + 1));
    to += 1;
  }
}

/** Returns the value of a hexadecimal digit. `0` has the code 48, `a` has 97. */
function digitOf(code: number): number {
  return code <= NINE ? code - 48 : code - 87;
}

const HEX_CODES = Uint8Array.from(HEX.join(""), (digit) => digit.charCodeAt(0));

/** Writes the text of a UUID. */
export function writeUuidText(uuid: Uint8Array, from: number, bytes: Uint8Array, at: number): void {
  let to = at;
  for (let n = 0; n < ID_BYTES; n++) {
    const code = 2 * (uuid[from + n] ?? 0);
    bytes[to] = HEX_CODES[code] ?? 0;
    bytes[to + 1] = HEX_CODES[code + 1] ?? 0;
    to += 2;
    if (n === 3 || n === 5 || n === 7 || n === 9) bytes[to++] = DASH;
  }
}

export function readUuid(bytes: Uint8Array, at: number): string {
  let text = "";
  for (let n = 0; n < ID_BYTES; n++) {
    text += HEX[bytes[at + n] ?? 0];
    if (n === 3 || n === 5 || n === 7 || n === 9) text += "-";
  }
  return text;
}

/** Writes the key of an id: a UUID itself, else a hash. */
export function writeKey(id: string, bytes: Uint8Array, at: number): void {
  if (isUuid(id)) {
    writeUuid(id, bytes, at);
    return;
  }
  const hash = sha256Hex(id);
  for (let n = 0; n < ID_BYTES; n++) {
    bytes[at + n] = Number.parseInt(hash.slice(2 * n, 2 * n + 2), 16);
  }
}

/** Compares by code units. For ids, which are ASCII, this is the order of their bytes. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
