import type { TextPacker } from "../../rows/text-packer.ts";
import type { ByteReader, ByteWriter } from "./bytes.ts";
import type { TextCells } from "./text-cells.ts";
import {
  compareTexts,
  ID_BYTES,
  ID_CHARS,
  isUuid,
  readUuid,
  writeUuid,
  writeUuidText,
} from "./uuids.ts";

const [NONE, UUID, TEXT] = [0, 1, 2];

/** Ids of a column: UUIDs as their bytes, others as texts. */
export class IdCells {
  readonly bytes: Uint8Array;
  readonly #kinds: Uint8Array;
  readonly #texts: TextCells;

  private constructor(kinds: Uint8Array, texts: TextCells, bytes: Uint8Array) {
    this.#kinds = kinds;
    this.#texts = texts;
    this.bytes = bytes;
  }

  /** @param keys 16 bytes for each id of a column that `writeIdsWithoutUuids` wrote. Only those of UUIDs are read */
  static read(reader: ByteReader, count: number, keys?: Uint8Array): IdCells {
    const kinds = reader.take(count);
    const texts = reader.texts(count);
    return new IdCells(kinds, texts, keys ?? reader.take(ID_BYTES * count));
  }

  has(n: number): boolean {
    return this.#kinds[n] !== NONE;
  }

  isUuid(n: number): boolean {
    return this.#kinds[n] === UUID;
  }

  /** Copies the UUIDs as 32-bit words. A column of `writeIds` has zeros for other ids. */
  words(): Uint32Array {
    return new Uint32Array(this.bytes.slice().buffer);
  }

  at(n: number): string | null {
    return this.isUuid(n) ? readUuid(this.bytes, ID_BYTES * n) : this.#texts.at(n);
  }

  copyTo(to: TextPacker, n: number): number {
    if (!this.isUuid(n)) return this.#texts.copyTo(to, n);
    return to.write(ID_CHARS, (bytes, at) => this.writeUuid(n, bytes, at));
  }

  /** Writes the text of a UUID. */
  writeUuid(n: number, bytes: Uint8Array, at: number): void {
    writeUuidText(this.bytes, ID_BYTES * n, bytes, at);
  }
}

/** Orders ids as their texts: UUIDs by their bytes. */
export function compareIds(a: IdCells, n: number, b: IdCells, m: number): number {
  if (!a.isUuid(n) || !b.isUuid(m)) return compareTexts(a.at(n) ?? "", b.at(m) ?? "");
  for (let at = 0; at < ID_BYTES; at++) {
    const difference = (a.bytes[ID_BYTES * n + at] ?? 0) - (b.bytes[ID_BYTES * m + at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

export function writeIds(writer: ByteWriter, ids: (string | null)[]): void {
  const kinds = writeIdsWithoutUuids(writer, ids);
  const bytes = new Uint8Array(ID_BYTES * ids.length);
  for (const [n, id] of ids.entries()) {
    if (id !== null && kinds[n] === UUID) writeUuid(id, bytes, ID_BYTES * n);
  }
  writer.bytes(bytes);
}

/** Writes a column of ids whose UUIDs are stored elsewhere. Returns the kind of each id. */
export function writeIdsWithoutUuids(writer: ByteWriter, ids: (string | null)[]): Uint8Array {
  const kinds = Uint8Array.from(ids, (id) => (id === null ? NONE : isUuid(id) ? UUID : TEXT));
  writer.bytes(kinds);
  writer.texts(ids.map((id, n) => (kinds[n] === TEXT ? id : null)));
  return kinds;
}
