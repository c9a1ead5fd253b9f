import { constants, createZstdCompress } from "node:zlib";

/** Compresses to one frame of any length; workerd's zstdCompressSync fails beyond its buffer. */
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
