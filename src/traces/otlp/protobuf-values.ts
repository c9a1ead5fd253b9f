import { type BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { type Attributes, type DecodeBudget, SpanError, spendValue } from "./span.ts";

/**
 * Reads a length-delimited KeyValue into the attributes. Works on one reader without a copy of the
 * bytes, because spans consist of small values.
 */
export function readKeyValue(reader: BinaryReader, into: Attributes, budget: DecodeBudget): void {
  const [key, value] = toPair(reader, budget, 0);
  into.set(key, value);
}

function toPair(reader: BinaryReader, budget: DecodeBudget, depth: number): [string, unknown] {
  spendValue(budget, depth);
  let key = "";
  let value: unknown = null;
  const end = endOf(reader);
  while (reader.pos < end) {
    const [field, type] = reader.tag();
    if (field === 1 && type === WireType.LengthDelimited) key = reader.string();
    else if (field === 2 && type === WireType.LengthDelimited) {
      value = toValue(reader, budget, depth);
    } else reader.skip(type, field);
  }
  assertEnd(reader, end);
  return [key, value];
}

/** Converts an AnyValue to JSON: bytes to base64, integers that a double cannot hold to text. */
function toValue(reader: BinaryReader, budget: DecodeBudget, depth: number): unknown {
  spendValue(budget, depth);
  let value: unknown = null;
  const end = endOf(reader);
  while (reader.pos < end) {
    const [field, type] = reader.tag();
    const read = TYPES[field] === type ? READERS[field] : undefined;
    if (read === undefined) reader.skip(type, field);
    else value = read(reader, budget, depth);
  }
  assertEnd(reader, end);
  return value;
}

type ValueReader = (reader: BinaryReader, budget: DecodeBudget, depth: number) => unknown;

const TYPES: Record<number, WireType> = {
  1: WireType.LengthDelimited,
  2: WireType.Varint,
  3: WireType.Varint,
  4: WireType.Bit64,
  5: WireType.LengthDelimited,
  6: WireType.LengthDelimited,
  7: WireType.LengthDelimited,
};

const READERS: Record<number, ValueReader> = {
  1: (reader) => reader.string(),
  2: (reader) => reader.bool(),
  3: (reader) => toInteger(reader.int64()),
  4: (reader) => toDouble(reader.double()),
  5: (reader, budget, depth) => {
    const list: unknown[] = [];
    forEachItem(reader, () => list.push(toValue(reader, budget, depth + 1)));
    return list;
  },
  6: (reader, budget, depth) => {
    const pairs: [string, unknown][] = [];
    forEachItem(reader, () => pairs.push(toPair(reader, budget, depth + 1)));
    return Object.fromEntries(pairs);
  },
  7: (reader) => Buffer.from(reader.bytes()).toString("base64"),
};

/** Visits the items of an ArrayValue or KeyValueList. */
function forEachItem(reader: BinaryReader, read: () => void): void {
  const end = endOf(reader);
  while (reader.pos < end) {
    const [field, type] = reader.tag();
    if (field === 1 && type === WireType.LengthDelimited) read();
    else reader.skip(type, field);
  }
  assertEnd(reader, end);
}

/** Reads the length of a message, and returns its end. */
function endOf(reader: BinaryReader): number {
  const length = reader.uint32();
  return reader.pos + length;
}

/** Bytes of a message that belong to the next one are damaged. */
function assertEnd(reader: BinaryReader, end: number): void {
  if (reader.pos !== end || end > reader.len) throw new SpanError("malformed span");
}

export function toInteger(value: bigint | string | number): unknown {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/** JSON has no text for NaN and infinity. */
export function toDouble(value: number): unknown {
  return Number.isFinite(value) ? value : String(value);
}
