import { createHash, randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32 } from "node:zlib";
import { S3Error } from "./errors.ts";

/** A complete body in a file that is not visible yet. */
export type ReceivedBody = { file: string; size: number; md5: string; checksums: Checksums };

export type Checksums = Record<string, string>;

const TEXT_LIMIT_BYTES = 4 * 1024 ** 2;

export async function receiveBody(
  request: IncomingMessage,
  content_sha256: string,
  folder: string,
): Promise<ReceivedBody> {
  const isChunked = content_sha256.startsWith("STREAMING-");
  const length = request.headers[isChunked ? "x-amz-decoded-content-length" : "content-length"];
  if (length === undefined) {
    const message = "You must provide the Content-Length HTTP header.";
    throw new S3Error("MissingContentLength", message);
  }
  const file = join(folder, randomBytes(12).toString("hex"));
  const trailer: Record<string, string> = {};
  const hasher = createHasher();
  try {
    const plain = isChunked ? decodeChunks(request, trailer) : request;
    await pipeline(plain, hasher.stream, createWriteStream(file));
    const checksums = verifyBody(request, content_sha256, Number(length), hasher, trailer);
    return { file, size: hasher.size(), md5: hasher.digests().md5.toString("hex"), checksums };
  } catch (error) {
    await rm(file, { force: true });
    throw isCut(error) ? incomplete(error) : error;
  }
}

export async function receiveText(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > TEXT_LIMIT_BYTES) throw new S3Error("InvalidRequest", "The body is too large.");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

type Hasher = ReturnType<typeof createHasher>;

function createHasher() {
  const hashes = {
    md5: createHash("md5"),
    sha256: createHash("sha256"),
    sha1: createHash("sha1"),
  };
  let size = 0;
  let crc = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (const hash of Object.values(hashes)) hash.update(chunk);
      crc = crc32(chunk, crc);
      size += chunk.length;
      done(null, chunk);
    },
  });
  let digests: { md5: Buffer; sha256: Buffer; sha1: Buffer; crc32: Buffer } | undefined;
  return {
    stream,
    size: () => size,
    digests() {
      if (digests) return digests;
      const crcBytes = Buffer.alloc(4);
      crcBytes.writeUInt32BE(crc);
      digests = {
        md5: hashes.md5.digest(),
        sha256: hashes.sha256.digest(),
        sha1: hashes.sha1.digest(),
        crc32: crcBytes,
      };
      return digests;
    },
  };
}

/** Checks the length, digests and checksums that the client declared. Returns the declared checksums. */
function verifyBody(
  request: IncomingMessage,
  content_sha256: string,
  length: number,
  hasher: Hasher,
  trailer: Record<string, string>,
): Checksums {
  if (hasher.size() !== length) throw incomplete();
  const digests = hasher.digests();
  if (/^[0-9a-f]{64}$/.test(content_sha256) && content_sha256 !== digests.sha256.toString("hex")) {
    throw new S3Error(
      "XAmzContentSHA256Mismatch",
      "The provided 'x-amz-content-sha256' header does not match what was computed.",
    );
  }
  assertMd5(request.headers["content-md5"], digests.md5);
  const computed: Checksums = {
    "x-amz-checksum-sha256": digests.sha256.toString("base64"),
    "x-amz-checksum-sha1": digests.sha1.toString("base64"),
    "x-amz-checksum-crc32": digests.crc32.toString("base64"),
  };
  const declared = Object.entries({ ...request.headers, ...trailer }).filter(([name]) =>
    /^x-amz-checksum-(?!algorithm|type|mode)/.test(name),
  );
  for (const [name, value] of declared) assertChecksum(computed, name, String(value));
  return Object.fromEntries(declared.map(([name, value]) => [name, String(value)]));
}

function assertMd5(declared: string | string[] | undefined, md5: Buffer): void {
  if (declared === undefined) return;
  if (Buffer.from(String(declared), "base64").length !== md5.length) {
    throw new S3Error("InvalidDigest", "The Content-MD5 you specified is not valid.");
  }
  if (declared !== md5.toString("base64")) {
    const message = "The Content-MD5 you specified did not match what we received.";
    throw new S3Error("BadDigest", message);
  }
}

function assertChecksum(computed: Checksums, name: string, value: string): void {
  if (computed[name] === undefined) {
    throw new S3Error("NotImplemented", `${name} is not supported here`);
  }
  if (computed[name] !== value) {
    const algorithm = name.slice("x-amz-checksum-".length).toUpperCase();
    const message = `The ${algorithm} you specified did not match the calculated checksum.`;
    throw new S3Error("BadDigest", message);
  }
}

/** Undoes aws-chunked. Signatures of chunks are not verified. */
async function* decodeChunks(
  request: AsyncIterable<Buffer>,
  trailer: Record<string, string>,
): AsyncGenerator<Buffer> {
  const { readLine, readBytes } = createReader(request[Symbol.asyncIterator]());
  for (;;) {
    const size = Number.parseInt(await readLine(), 16);
    if (!(size > 0)) break;
    yield* readBytes(size);
    await readLine();
  }
  for (let line = await readLine(); line !== ""; line = await readLine()) {
    const [name = "", value = ""] = line.split(/:(.*)/s);
    trailer[name.toLowerCase()] = value.trim();
  }
}

/** Reads lines and bytes. At the end of the stream both are empty. */
function createReader(source: AsyncIterator<Buffer>) {
  let buffer: Buffer = Buffer.alloc(0);
  const fill = async () => {
    const { done, value } = await source.next();
    if (!done) buffer = Buffer.concat([buffer, value]);
    return !done;
  };
  return {
    async readLine(): Promise<string> {
      while (!buffer.includes("\r\n") && (await fill()));
      const end = buffer.indexOf("\r\n");
      const line = end < 0 ? buffer : buffer.subarray(0, end);
      buffer = buffer.subarray(line.length + 2);
      return line.toString();
    },
    async *readBytes(size: number): AsyncGenerator<Buffer> {
      for (let left = size; left > 0; ) {
        if (buffer.length === 0 && !(await fill())) return;
        const part = buffer.subarray(0, left);
        buffer = buffer.subarray(part.length);
        left -= part.length;
        yield part;
      }
    },
  };
}

function isCut(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ERR_STREAM_PREMATURE_CLOSE" || code === "ECONNRESET";
}

function incomplete(cause?: unknown): S3Error {
  const error = new S3Error(
    "IncompleteBody",
    "You did not provide the number of bytes specified by the Content-Length HTTP header",
  );
  error.cause = cause;
  return error;
}
