import { createHash } from "node:crypto";
import { inflateSync } from "node:zlib";
import { SOURCE_LIMITS } from "../limits.ts";
import { bytesText } from "../text.ts";
import { tooLarge } from "../tree.ts";
import { applyDelta, resultSizeOf } from "./git-delta.ts";

/** https://git-scm.com/docs/pack-format, version 2. */

type ObjectType = "commit" | "tree" | "blob" | "tag";
export type GitObject = { type: ObjectType; data: Uint8Array };
export type GitObjects = Map<string, GitObject>;

/** `at` is the offset in the pack. `base` is the offset or the id of a delta's base, `null` for a whole object. */
type Entry = { at: number; type: number; data: Uint8Array; base: number | string | null };
type Header = { type: number; size: number; base: number | string | null; at: number };

const TYPES = new Map<number, ObjectType>([
  [1, "commit"],
  [2, "tree"],
  [3, "blob"],
  [4, "tag"],
]);
const OFFSET_DELTA = 6;
const REF_DELTA = 7;
const HEADER_BYTES = 12;
const OID_BYTES = 20;

export class DamagedPack extends Error {}

/**
 * Reads the objects of a pack by their ids. Each size is checked before the object is inflated. The sum of the sizes
 * includes the results of deltas, and is limited by `SOURCE_LIMITS.total_bytes`.
 */
export function readPack(pack: Uint8Array): GitObjects {
  const reader = new PackReader(pack);
  return reader.read();
}

class PackReader {
  readonly #pack: Uint8Array;
  readonly #byId: GitObjects = new Map();
  readonly #byOffset = new Map<number, GitObject>();
  #bytes = 0;

  constructor(pack: Uint8Array) {
    this.#pack = pack;
  }

  read(): GitObjects {
    const count = this.#readCount();
    let waiting: Entry[] = [];
    let at = HEADER_BYTES;
    for (let n = 0; n < count; n++) {
      const { entry, next } = this.#readEntry(at);
      if (!this.#add(entry)) waiting.push(entry);
      at = next;
    }
    // A base may follow its deltas. Each round resolves at least one of them.
    while (waiting.length > 0) {
      const left = waiting.filter((entry) => !this.#add(entry));
      if (left.length === waiting.length) throw new DamagedPack("a delta has no base");
      waiting = left;
    }
    return this.#byId;
  }

  #readCount(): number {
    const view = viewOf(this.#pack);
    const isPack = this.#pack.byteLength > HEADER_BYTES && view.getUint32(0) === 0x5041434b;
    if (!isPack || view.getUint32(4) !== 2) throw new DamagedPack("it must be a pack of version 2");
    const count = view.getUint32(8);
    if (count <= SOURCE_LIMITS.objects) return count;
    throw tooLarge(
      `The commit has ${count} git objects; at most ${SOURCE_LIMITS.objects} are read.`,
    );
  }

  #readEntry(at: number): { entry: Entry; next: number } {
    const header = readHeader(this.#pack, at);
    this.#countBytes(header.size);
    const { data, read } = inflate(this.#pack, header);
    const { type, base } = header;
    return { entry: { at, type, data, base }, next: header.at + read };
  }

  /** Stores the object of an entry. Returns `false` while the base of a delta is not stored. */
  #add({ at, type, data, base }: Entry): boolean {
    if (base === null) {
      this.#keep(at, { type: TYPES.get(type) as ObjectType, data });
      return true;
    }
    const found = typeof base === "string" ? this.#byId.get(base) : this.#byOffset.get(base);
    if (found === undefined) return false;
    this.#countBytes(resultSizeOf(data));
    this.#keep(at, { type: found.type, data: applyDelta(found.data, data) });
    return true;
  }

  #keep(at: number, object: GitObject): void {
    const hash = createHash("sha1");
    hash.update(`${object.type} ${object.data.byteLength}\0`).update(object.data);
    this.#byId.set(hash.digest("hex"), object);
    this.#byOffset.set(at, object);
  }

  #countBytes(size: number): void {
    const { file_bytes, total_bytes } = SOURCE_LIMITS;
    if (size > file_bytes) {
      throw tooLarge(
        `The commit has a git object of ${bytesText(size)}; one may have ${bytesText(file_bytes)}.`,
      );
    }
    this.#bytes += size;
    if (this.#bytes > total_bytes) {
      throw tooLarge(`The git objects of the commit have more than ${bytesText(total_bytes)}.`);
    }
  }
}

function readHeader(pack: Uint8Array, start: number): Header {
  let at = start;
  let byte = byteAt(pack, at++);
  const type = (byte >> 4) & 7;
  let size = byte & 15;
  for (let factor = 16; byte & 128; factor *= 128) {
    byte = byteAt(pack, at++);
    size += (byte & 127) * factor;
  }
  if (TYPES.has(type)) return { type, size, base: null, at };
  if (type === REF_DELTA) {
    const base = hexOf(pack.subarray(at, at + OID_BYTES));
    return { type, size, base, at: at + OID_BYTES };
  }
  if (type !== OFFSET_DELTA) throw new DamagedPack(`an object has the type ${type}`);
  const distance = readDistance(pack, at);
  return { type, size, base: start - distance.value, at: distance.at };
}

function readDistance(pack: Uint8Array, start: number): { value: number; at: number } {
  let at = start;
  let byte = byteAt(pack, at++);
  let value = byte & 127;
  while (byte & 128) {
    byte = byteAt(pack, at++);
    value = (value + 1) * 128 + (byte & 127);
  }
  return { value, at };
}

/** Passes a bounded input to zlib. Deflated data is at most an eighth larger than the data, so a quarter is enough. */
function inflate(pack: Uint8Array, { at, size }: Header): { data: Uint8Array; read: number } {
  const input = pack.subarray(at, at + Math.ceil(size * 1.25) + 1024);
  try {
    const { buffer, engine } = inflateSync(input, {
      info: true,
      maxOutputLength: Math.max(1, size),
    }) as unknown as { buffer: Uint8Array; engine: { bytesWritten: number } };
    if (buffer.byteLength === size) return { data: buffer, read: engine.bytesWritten };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new DamagedPack(`an object cannot be inflated to its ${size} bytes: ${text}`, {
      cause: error,
    });
  }
  throw new DamagedPack(`an object does not have its ${size} bytes`);
}

function byteAt(pack: Uint8Array, at: number): number {
  const byte = pack[at];
  if (byte === undefined) throw new DamagedPack("it is cut off");
  return byte;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
