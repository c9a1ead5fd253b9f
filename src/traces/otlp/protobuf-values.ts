import { type BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { type Attributes, type DecodeBudget, SpanError, spendValue } from "./span.ts";

/**
 * Reads a length-delimited KeyValue into the attributes. Works on one reader without a copy of the
 * bytes, because spans consist of small values.
 */
export function readKeyValue(reader: BinaryReader, into: Attributes, budget: DecodeBudget): void {
  const [key, value] = readPair(reader, budget, 0);
  into.set(key, value);
}

function readPair(reader: BinaryReader, budget: DecodeBudget, depth: number): [string, unknown] {
  spendValue(budget, depth);
  let key = "";
  let value: unknown = null;
  const end = endOf(reader);
  while (reader.pos < end) {
    const [field, type] = reader.tag();
    if (field === 1 && type === WireType.LengthDelimited) key = reader.string();
    else if (field === 2 && type === WireType.LengthDelimited) {
      value = readValue(reader, budget, depth);
    } else reader.skip(type, field);
  }
  assertEnd(reader, end);
  return [key, value];
}

/** Reads an AnyValue as JSON: bytes to base64, integers that a double cannot hold to text. */
function readValue(reader: BinaryReader, budget: DecodeBudget, depth: number): unknown {
  spendValue(budget, depth);
  let value: unknown = null;
  const end = endOf(reader);
  while (reader.pos < end) {
    const [field, type] = reader.tag();
    const known = FIELDS[field];
    if (known?.type === type) value = known.read(reader, budget, depth);
    else reader.skip(type, field);
  }
  assertEnd(reader, end);
  return value;
}

type ValueReader = (reader: BinaryReader, budget: DecodeBudget, depth: number) => unknown;

/** Fields of AnyValue by number. */
const FIELDS: Record<number, { type: WireType; read: ValueReader }> = {
  // string_value
  1: { type: WireType.LengthDelimited, read: (reader) => reader.string() },
  // bool_value
  2: { type: WireType.Varint, read: (reader) => reader.bool() },
  // int_value
  3: { type: WireType.Varint, read: (reader) => toInteger(reader.int64()) },
  // double_value
  4: { type: WireType.Bit64, read: (reader) => toDouble(reader.double()) },
  // array_value
  5: { type: WireType.LengthDelimited, read: readList },
  // kvlist_value
  6: { type: WireType.LengthDelimited, read: readPairs },
  // bytes_value
  7: {
    type: WireType.LengthDelimited,
    read: (reader) => Buffer.from(reader.bytes()).toString("base64"),
  },
};

function readList(reader: BinaryReader, budget: DecodeBudget, depth: number): unknown[] {
  const list: unknown[] = [];
  forEachItem(reader, () => list.push(readValue(reader, budget, depth + 1)));
  return list;
}

function readPairs(reader: BinaryReader, budget: DecodeBudget, depth: number): object {
  const pairs: [string, unknown][] = [];
  forEachItem(reader, () => pairs.push(readPair(reader, budget, depth + 1)));
  return Object.fromEntries(pairs);
}

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

/** Refuses a value that goes past the end of its message. */
function assertEnd(reader: BinaryReader, end: number): void {
  if (reader.pos !== end || end > reader.len) throw new SpanError("malformed span");
}

export function toInteger(value: bigint | string | number): unknown {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/** Returns a text for NaN and infinity, which JSON does not have. */
export function toDouble(value: number): unknown {
  return Number.isFinite(value) ? value : String(value);
}
