import type { Column } from "../columns.ts";
import type { Codec } from "./codecs.ts";
import { type Encoder, type Page, PLAIN, type Statistics } from "./encoder.ts";
import { pathOf, physicalType } from "./schema.ts";
import { binary, i32, i64, list, struct, toBytes, type Value } from "./thrift.ts";

const RLE = 3;
const PAGE_KINDS = { data: 0, dictionary: 2 };

/** One column of a row group as it stands in the file, and what the footer says of it. */
export type Chunk = { parts: Uint8Array[]; bytes: number; rawBytes: number; metadata: Value };

export function writeChunk(column: Column, encoder: Encoder, codec: Codec, offset: number): Chunk {
  const parts: Uint8Array[] = [];
  let [bytes, rawBytes, dataAt] = [0, 0, 0];
  const pages = encoder.pages();
  for (const page of pages) {
    const body = codec.compress(page.body);
    const header = headerOf(page, body.length);
    if (page.kind === "data") dataAt = offset + bytes;
    parts.push(header, body);
    bytes += header.length + body.length;
    rawBytes += header.length + page.body.length;
  }
  const metadata = struct({
    2: i64(offset),
    3: struct({
      1: i32(physicalType(column)),
      2: list([RLE, ...new Set(pages.map(({ encoding }) => encoding))].map(i32)),
      3: list(pathOf(column).map(binary)),
      4: i32(codec.code),
      5: i64(pages.at(-1)?.count ?? 0),
      6: i64(rawBytes),
      7: i64(bytes),
      9: i64(dataAt),
      11: pages.length > 1 ? i64(offset) : undefined,
      12: toStatistics(encoder.statistics()),
    }),
  });
  return { parts, bytes, rawBytes, metadata };
}

/** Pages of version 1: every reader knows them, and all levels are short. */
function headerOf({ kind, encoding, count, body }: Page, bytes: number): Uint8Array {
  const data = struct({ 1: i32(count), 2: i32(encoding), 3: i32(RLE), 4: i32(RLE) });
  return toBytes(
    struct({
      1: i32(PAGE_KINDS[kind]),
      2: i32(body.length),
      3: i32(bytes),
      5: kind === "data" ? data : undefined,
      7: kind === "dictionary" ? struct({ 1: i32(count), 2: i32(PLAIN) }) : undefined,
    }),
  );
}

function toStatistics(statistics: Statistics | undefined): Value | undefined {
  if (!statistics) return undefined;
  const { null_count, min, max } = statistics;
  return struct({ 3: i64(null_count), 5: max && binary(max), 6: min && binary(min) });
}
