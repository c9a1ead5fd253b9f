// Sends files in chunks of a fixed size: SQLite changes pages in place, so most chunks of a changed file are known.
import { open } from "node:fs/promises";
import type { Bucket } from "./bucket.ts";
import type { Codec } from "./codec.ts";

const CHUNK_BYTES = 4 * 1024 ** 2;
const FILES_AT_ONCE = 8;

/** `files`: files that were read. `bytes`: bytes of the chunks that were sent. */
export type Sent = { files: number; bytes: number };

export type Chunks = {
  sent: Sent;
  /** Sends the chunks that the bucket lacks. Returns the hashes of all. */
  sendFile(file: string): Promise<string[]>;
};

/** `stored` are hashes of chunks in the bucket. */
export function createChunks(bucket: Bucket, codec: Codec, stored: ReadonlySet<string>): Chunks {
  const sent: Sent = { files: 0, bytes: 0 };
  const sending = new Map<string, Promise<void>>();
  const send = async (hash: string, content: Uint8Array) => {
    const sealed = await codec.seal(content);
    await bucket.put(chunkName(hash), sealed);
    sent.bytes += sealed.length;
  };
  return {
    sent,
    async sendFile(file) {
      const hashes: string[] = [];
      for await (const content of readChunks(file)) {
        const hash = codec.nameOf(content);
        hashes.push(hash);
        if (stored.has(hash)) continue;
        const put = sending.get(hash) ?? send(hash, content);
        sending.set(hash, put);
        await put;
      }
      sent.files += 1;
      return hashes;
    },
  };
}

export function chunkName(hash: string): string {
  return `chunks/${hash.slice(0, 2)}/${hash}`;
}

async function* readChunks(file: string): AsyncGenerator<Uint8Array> {
  const handle = await open(file);
  try {
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES);
      if (bytesRead > 0) yield buffer.subarray(0, bytesRead);
      if (bytesRead < CHUNK_BYTES) return;
    }
  } finally {
    await handle.close();
  }
}

/** Works on several items at once. After a failure no further item begins. */
export async function inParallel<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  let isFailed = false;
  const worker = async () => {
    for (let next = rest.next(); !next.done && !isFailed; next = rest.next()) {
      await work(next.value).catch((error: unknown) => {
        isFailed = true;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: FILES_AT_ONCE }, worker));
}
