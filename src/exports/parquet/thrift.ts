/** A value in Thrift's compact protocol, as far as Parquet's metadata needs it. */
export type Value = { type: number; write: (out: number[]) => void };

const TRUE = 1;
const FALSE = 2;
const I16 = 4;
const I32 = 5;
const I64 = 6;
const BINARY = 8;
const LIST = 9;
const STRUCT = 12;

export const i16 = (value: number): Value => ({ type: I16, write: (out) => zigzag(out, value) });
export const i32 = (value: number): Value => ({ type: I32, write: (out) => zigzag(out, value) });
export const i64 = (value: number): Value => ({ type: I64, write: (out) => zigzag(out, value) });

export const bool = (value: boolean): Value => ({ type: value ? TRUE : FALSE, write: () => {} });

export function binary(value: string | Uint8Array): Value {
  const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value;
  return {
    type: BINARY,
    write(out) {
      varint(out, bytes.length);
      for (const byte of bytes) out.push(byte);
    },
  };
}

export function list(items: readonly Value[]): Value {
  const type = items[0]?.type ?? STRUCT;
  return {
    type: LIST,
    write(out) {
      if (items.length < 15) out.push((items.length << 4) | type);
      else {
        out.push((15 << 4) | type);
        varint(out, items.length);
      }
      for (const item of items) item.write(out);
    },
  };
}

/** By the ids of the fields, none more than 15 after the one before. */
export function struct(fields: Record<number, Value | undefined>): Value {
  return {
    type: STRUCT,
    write(out) {
      let last = 0;
      for (const [key, value] of Object.entries(fields)) {
        if (!value) continue;
        const id = Number(key);
        out.push(((id - last) << 4) | value.type);
        value.write(out);
        last = id;
      }
      out.push(0);
    },
  };
}

export function toBytes(value: Value): Uint8Array {
  const out: number[] = [];
  value.write(out);
  return Uint8Array.from(out);
}

/** A struct that was written before. */
export function written(bytes: Uint8Array): Value {
  return {
    type: STRUCT,
    write(out) {
      for (const byte of bytes) out.push(byte);
    },
  };
}

function zigzag(out: number[], value: number): void {
  varint(out, value < 0 ? -2 * value - 1 : 2 * value);
}

/** Arithmetic, not shifts: offsets go past 32 bits. */
function varint(out: number[], value: number): void {
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) out.push((rest % 0x80) | 0x80);
  out.push(rest);
}
