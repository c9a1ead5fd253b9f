// Reads what manifests have: no maps, and unions with null alone. icebird and pyiceberg read them in the e2e tests: both
// need more than workerd allows.
type Field = { name: string; type: Type };
type Type =
  | string
  | [string, Type]
  | { type: "record"; fields: Field[] }
  | { type: "array"; items: Type };

const MAGIC_BYTES = 4;
/** Follows the header and each block. */
const SYNC_BYTES = 16;

export function readAvro(bytes: Uint8Array): {
  header: Record<string, string>;
  records: unknown[];
} {
  let at = MAGIC_BYTES;
  const long = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number((value >> 1n) ^ -(value & 1n));
    }
  };
  const chunk = () => {
    const length = long();
    at += length;
    return bytes.slice(at - length, at);
  };
  const text = () => new TextDecoder().decode(chunk());
  const primitives: Record<string, () => unknown> = { string: text, bytes: chunk, int: long, long };
  const primitive = (type: string) => {
    const readPrimitive = primitives[type];
    if (!readPrimitive) throw new Error(`Unknown type ${type}`);
    return readPrimitive();
  };
  const list = (item: () => unknown) => {
    const items: unknown[] = [];
    for (let count = long(); count !== 0; count = long()) {
      for (let n = 0; n < count; n++) items.push(item());
    }
    return items;
  };
  const read = (type: Type): unknown => {
    if (typeof type === "string") return primitive(type);
    if (Array.isArray(type)) return long() === 0 ? null : read(type[1]);
    if (type.type === "array") return list(() => read(type.items));
    return Object.fromEntries(type.fields.map((field) => [field.name, read(field.type)]));
  };
  const header = Object.fromEntries(list(() => [text(), text()]) as [string, string][]);
  const schema = JSON.parse(header["avro.schema"] ?? "") as Type;
  at += SYNC_BYTES;
  const records: unknown[] = [];
  while (at < bytes.length) {
    const count = long();
    // Bytes of the block.
    long();
    for (let n = 0; n < count; n++) records.push(read(schema));
    at += SYNC_BYTES;
  }
  return { header, records };
}
