import type { Column } from "../columns.ts";
import type { Chunk } from "./chunk.ts";
import { join } from "./number-buffer.ts";
import { schemaOf } from "./schema.ts";
import { binary, i16, i32, i64, list, struct, toBytes, written } from "./thrift.ts";

export const MAGIC = new TextEncoder().encode("PAR1");

const CREATED_BY = "heddle";
/** Least and greatest values are by the order of the type. */
const BY_TYPE = struct({ 1: struct({}) });

/** As bytes: a file may have hundreds, each with all of its columns. */
export function rowGroupOf(
  chunks: readonly Chunk[],
  rows: number,
  offset: number,
  ordinal: number,
) {
  const sum = (of: "bytes" | "rawBytes") => chunks.reduce((total, chunk) => total + chunk[of], 0);
  return toBytes(
    struct({
      1: list(chunks.map(({ metadata }) => metadata)),
      2: i64(sum("rawBytes")),
      3: i64(rows),
      5: i64(offset),
      6: i64(sum("bytes")),
      7: ordinal < 0x8000 ? i16(ordinal) : undefined,
    }),
  );
}

/** All that follows the last row group. */
export function footerOf(
  columns: readonly Column[],
  groups: readonly Uint8Array[],
  rows: number,
  metadata: Record<string, string>,
): Uint8Array {
  const pairs = Object.entries(metadata);
  const bytes = toBytes(
    struct({
      1: i32(1),
      2: list(schemaOf(columns)),
      3: i64(rows),
      4: list(groups.map(written)),
      5: pairs.length > 0 ? list(pairs.map(toPair)) : undefined,
      6: binary(CREATED_BY),
      7: list(columns.map(() => BY_TYPE)),
    }),
  );
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, bytes.length, true);
  return join(bytes, length, MAGIC);
}

function toPair([key, value]: [string, string]) {
  return struct({ 1: binary(key), 2: binary(value) });
}
