import { ByteWriter } from "hyparquet-writer";

/** Part of Avro's schema language that manifests need. Attributes such as `field-id` stay in the file's header. */
export type AvroType = "int" | "long" | "string" | "bytes" | AvroComplex;
type AvroComplex = AvroRecord | AvroArray | readonly ["null", AvroType];
type AvroRecord = { type: "record"; name: string; fields: readonly AvroField[] };
type AvroArray = { type: "array"; items: AvroType };
type AvroField = { name: string; type: AvroType; "field-id": number };

export type AvroValue =
  | null
  | number
  | string
  | Uint8Array
  | readonly AvroValue[]
  | { readonly [name: string]: AvroValue };

const NUMBERS: readonly AvroType[] = ["int", "long"];
const MAGIC = [0x4f, 0x62, 0x6a, 0x01];
/** The 16 bytes that end a block. Constant, so that the same records make the same bytes. */
const SYNC_MARK = new TextEncoder().encode("heddle-sync-mark");

/**
 * Writes an Avro object container with one block. Libraries are no option: they drop the attributes of Iceberg from the
 * schema, or lack arrays of records.
 */
export function writeAvro(
  schema: AvroRecord,
  metadata: Record<string, string>,
  records: readonly AvroValue[],
): Uint8Array {
  const file = new ByteWriter();
  for (const byte of MAGIC) file.appendUint8(byte);
  const header = { "avro.schema": JSON.stringify(schema), "avro.codec": "null", ...metadata };
  const entries = Object.entries(header);
  appendLong(file, entries.length);
  for (const [key, value] of entries) {
    appendText(file, key);
    appendText(file, value);
  }
  appendLong(file, 0);
  file.appendBytes(SYNC_MARK);
  if (records.length > 0) appendBlock(file, schema, records);
  return file.getBytes().slice();
}

function appendBlock(file: ByteWriter, schema: AvroRecord, records: readonly AvroValue[]): void {
  const block = new ByteWriter();
  for (const record of records) append(block, schema, record);
  appendLong(file, records.length);
  appendLong(file, block.offset);
  file.appendBytes(block.getBytes());
  file.appendBytes(SYNC_MARK);
}

function append(file: ByteWriter, type: AvroType, value: AvroValue): void {
  if (typeof type === "string") appendPrimitive(file, type, value);
  else if (!("type" in type)) appendOptional(file, type[1], value);
  else if (type.type === "array") appendArray(file, type, value);
  else appendRecord(file, type, value);
}

function appendOptional(file: ByteWriter, type: AvroType, value: AvroValue): void {
  appendLong(file, value === null ? 0 : 1);
  if (value !== null) append(file, type, value);
}

function appendRecord(file: ByteWriter, { name, fields }: AvroRecord, value: AvroValue): void {
  if (!isRecord(value)) throw mismatch(name, value);
  for (const field of fields) append(file, field.type, value[field.name] ?? null);
}

function appendArray(file: ByteWriter, { items }: AvroArray, value: AvroValue): void {
  if (!isList(value)) throw mismatch("array", value);
  if (value.length > 0) appendLong(file, value.length);
  for (const item of value) append(file, items, item);
  appendLong(file, 0);
}

function appendPrimitive(file: ByteWriter, type: AvroType & string, value: AvroValue): void {
  if (type === "string" && typeof value === "string") appendText(file, value);
  else if (type === "bytes" && value instanceof Uint8Array) appendBytes(file, value);
  else if (NUMBERS.includes(type) && typeof value === "number") appendLong(file, value);
  else throw mismatch(type, value);
}

/** Converts to BigInt, because the writer shifts numbers as 32 bits. */
function appendLong(file: ByteWriter, value: number): void {
  file.appendZigZag(BigInt(value));
}

function appendText(file: ByteWriter, text: string): void {
  appendBytes(file, new TextEncoder().encode(text));
}

function appendBytes(file: ByteWriter, bytes: Uint8Array): void {
  appendLong(file, bytes.length);
  file.appendBytes(bytes);
}

function isList(value: AvroValue): value is readonly AvroValue[] {
  return Array.isArray(value);
}

function isRecord(value: AvroValue): value is { readonly [name: string]: AvroValue } {
  return (
    typeof value === "object" && value !== null && !isList(value) && !(value instanceof Uint8Array)
  );
}

function mismatch(type: string, value: AvroValue): Error {
  return new Error(`Avro: a value of type ${typeof value} does not fit ${type}`);
}
