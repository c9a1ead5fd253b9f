import type { ColumnChunk, Encoding, SchemaTree } from "hyparquet";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import type { Codec } from "./codecs.ts";
import type { PartWriter } from "./part-writer.ts";

type Statistics = NonNullable<NonNullable<ColumnChunk["meta_data"]>["statistics"]>;

/** The data page of a column chunk. `count` is the number of levels, nulls included. */
export type DataPage = {
  body: Uint8Array;
  encoding: Encoding;
  count: number;
  statistics: Statistics | undefined;
};

/** A dictionary page that was written before the data page. `raw_bytes`: its header and its uncompressed values. */
export type Dictionary = { offset: number; raw_bytes: number };

/** Writes one data page and returns the chunk's entry of the footer. Version 1 pages: every reader takes them. */
export function writeChunk(
  file: PartWriter,
  path: readonly SchemaTree[],
  codec: Codec,
  { body, encoding, count, statistics }: DataPage,
  dictionary?: Dictionary,
): ColumnChunk {
  const offset = file.offset;
  const compressed = codec.compress(body);
  writePageHeader(file, {
    type: "DATA_PAGE",
    uncompressed_page_size: body.length,
    compressed_page_size: compressed.length,
    data_page_header: {
      num_values: count,
      encoding,
      definition_level_encoding: "RLE",
      repetition_level_encoding: "RLE",
    },
  });
  const header_bytes = file.offset - offset;
  file.appendBytes(compressed);
  const start = dictionary?.offset ?? offset;
  const encodings: Encoding[] = dictionary ? ["RLE", "PLAIN", encoding] : ["RLE", encoding];
  return {
    file_offset: BigInt(start),
    meta_data: {
      type: path.at(-1)?.element.type ?? "BYTE_ARRAY",
      encodings,
      path_in_schema: path.slice(1).map(({ element }) => element.name),
      codec: codec.name,
      num_values: BigInt(count),
      total_uncompressed_size: BigInt((dictionary?.raw_bytes ?? 0) + header_bytes + body.length),
      total_compressed_size: BigInt(file.offset - start),
      data_page_offset: BigInt(offset),
      ...(dictionary && { dictionary_page_offset: BigInt(start) }),
      ...(statistics && { statistics }),
    },
  };
}

/** Returns the bytes of a column chunk in its file, from the start to the end, exclusive. */
export function chunkRange({ meta_data }: ColumnChunk): [number, number] {
  if (meta_data === undefined) throw new Error("A column chunk without metadata");
  const { dictionary_page_offset, data_page_offset, total_compressed_size } = meta_data;
  const start = Number(dictionary_page_offset ?? data_page_offset);
  return [start, start + Number(total_compressed_size)];
}

/** Returns the entry of a chunk whose pages are copied to an offset of another file. */
export function moveChunk(chunk: ColumnChunk, offset: number): ColumnChunk {
  const { meta_data } = chunk;
  const by = BigInt(offset - chunkRange(chunk)[0]);
  if (meta_data === undefined) return chunk;
  const { dictionary_page_offset, data_page_offset } = meta_data;
  return {
    ...chunk,
    file_offset: BigInt(offset),
    meta_data: {
      ...meta_data,
      data_page_offset: data_page_offset + by,
      ...(dictionary_page_offset !== undefined && {
        dictionary_page_offset: dictionary_page_offset + by,
      }),
    },
  };
}
