import { constants, createZstdCompress } from "node:zlib";

/** One frame of any length; workerd's zstdCompressSync has none over a buffer of its own. */
export async function packZstd(bytes: Uint8Array, isChecked = false): Promise<Uint8Array> {
  const engine = createZstdCompress({
    chunkSize: bytes.length + (bytes.length >>> 7) + 1024,
    params: { [constants.ZSTD_c_checksumFlag]: isChecked ? 1 : 0 },
  });
  engine.end(bytes);
  const chunks: Uint8Array[] = [];
  for await (const chunk of engine) chunks.push(chunk);
  return Buffer.concat(chunks);
}
