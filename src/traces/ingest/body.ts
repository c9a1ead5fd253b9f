import { AppError } from "../../shared/errors.ts";
import { type ExactJson, parseExact } from "../exact-json.ts";
import { MAX_BODY_BYTES } from "../limits.ts";
import { unpackZstd } from "../zstd.ts";

/** Default chunks are a few kilobytes, and each read has a fixed cost. */
const CHUNK_BYTES = 128 * 1024;

/** Yields the body decoded by Content-Encoding. Throws a 413 when it exceeds the limit. */
export async function* readBytes(request: Request): AsyncGenerator<Uint8Array> {
  const encoding = request.headers.get("Content-Encoding")?.trim().toLowerCase() ?? "identity";
  const body = request.body ?? new Blob([]).stream();
  switch (encoding) {
    case "":
    case "identity":
      return yield* counted(chunksOf(body));
    case "gzip":
    case "deflate":
      return yield* unpacked(
        chunksOf(body.pipeThrough(new DecompressionStream(encoding))),
        encoding,
      );
    case "zstd":
      return yield* unpacked(unpackZstd(counted(chunksOf(body))), encoding);
    default:
      throw new AppError(
        "unsupported_media_type",
        `Content-Encoding is "${encoding}"; use identity, gzip, deflate or zstd.`,
      );
  }
}

export async function readJson(request: Request): Promise<ExactJson> {
  const text = new TextDecoder().decode(await joined(readBytes(request)));
  return parseJson(text, "Malformed JSON in request body");
}

export function parseJson(text: string, what: string): ExactJson {
  try {
    return parseExact(text);
  } catch (error) {
    throw malformed(what, error);
  }
}

async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader({ mode: "byob" });
  let isWhole = false;
  try {
    while (!isWhole) {
      const { value, done } = await reader.readAtLeast(CHUNK_BYTES, new Uint8Array(CHUNK_BYTES));
      isWhole = done;
      if (value && value.byteLength > 0) yield value;
    }
  } finally {
    // Cancels the stream when the consumer stops early.
    if (!isWhole) await reader.cancel();
  }
}

async function* counted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of chunks) {
    total += chunk.byteLength;
    if (total > MAX_BODY_BYTES) throw tooLarge();
    yield chunk;
  }
}

async function* unpacked(
  chunks: AsyncIterable<Uint8Array>,
  encoding: string,
): AsyncGenerator<Uint8Array> {
  try {
    yield* counted(chunks);
  } catch (error) {
    if (error instanceof AppError) throw error;
    const text = `The body is not valid ${encoding}: it is truncated or corrupt.`;
    throw malformed(text, error);
  }
}

async function joined(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
}

function malformed(text: string, cause: unknown): AppError {
  return new AppError("bad_request", text, { cause });
}

function tooLarge(): AppError {
  const text = `The body exceeds ${MAX_BODY_BYTES} bytes uncompressed; send fewer runs in a request.`;
  return new AppError("too_large", text);
}
