import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { utf8 } from "../../shared/crypto/encoding.ts";

/** Reads the value of a field, or returns `false` to skip it. */
type FieldReader = (field: number, type: WireType, reader: BinaryReader) => boolean;
export type Bytes = Uint8Array;

export function textOf(bytes: Bytes, field: number): string {
  return utf8.decode(messageOf(bytes, field));
}

export function hexOf(bytes: Bytes, field: number): string {
  return toHex(messageOf(bytes, field));
}

/** Returns the last length-delimited value of a field, empty when there is none. */
export function messageOf(bytes: Bytes, field: number): Bytes {
  let last: Bytes = EMPTY_BYTES;
  forEachMessage(bytes, field, (message) => {
    last = message;
  });
  return last;
}

const EMPTY_BYTES = new Uint8Array();

/** Visits the length-delimited values of a field one by one: a list of them could be much larger than the body. */
export function forEachMessage(bytes: Bytes, wanted: number, read: (message: Bytes) => void): void {
  forEachField(bytes, (field, type, reader) => {
    if (field !== wanted || type !== WireType.LengthDelimited) return false;
    read(reader.bytes());
    return true;
  });
}

export function forEachField(bytes: Bytes, read: FieldReader): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (!read(field, type, reader)) reader.skip(type, field);
  }
  // A fixed or varint value that ends beyond the bytes does not throw by itself.
  if (reader.pos > reader.len) throw new RangeError("truncated");
}

export function toHex(bytes: Bytes): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}
