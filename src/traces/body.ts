import { zstdDecompressSync } from "node:zlib";
import { AppError } from "../shared/errors.ts";
import { MAX_BODY_BYTES } from "./limits.ts";

/** The body's bytes, unpacked as Content-Encoding says, as they come; more than may be is a 413. */
export async function* readBytes(request: Request): AsyncGenerator<Uint8Array> {
  const encoding = request.headers.get("Content-Encoding")?.trim().toLowerCase() ?? "identity";
  const bytes = counted(request.body);
  switch (encoding) {
    case "":
    case "identity":
      return yield* bytes;
    case "gzip":
    case "deflate":
      return yield* inflated(request.body, encoding);
    case "zstd":
      return yield zstd(await joined(bytes));
    default:
      throw new AppError(
        "unsupported_media_type",
        `Content-Encoding is "${encoding}"; send the body as it is, or as gzip, deflate or zstd.`,
      );
  }
}

export async function readJson(request: Request): Promise<unknown> {
  const text = new TextDecoder().decode(await joined(readBytes(request)));
  return parseJson(text, "Malformed JSON in request body");
}

export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformed(what, error);
  }
}

async function* counted(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  let total = 0;
  for await (const chunk of body) {
    total += chunk.byteLength;
    if (total > MAX_BODY_BYTES) throw tooLarge();
    yield chunk;
  }
}

async function* inflated(
  body: ReadableStream<Uint8Array> | null,
  format: "gzip" | "deflate",
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const unpacked = body.pipeThrough(new DecompressionStream(format));
  try {
    yield* counted(unpacked);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw malformed(`The body is not whole ${format}.`, error);
  }
}

function zstd(packed: Uint8Array): Uint8Array {
  try {
    return zstdDecompressSync(packed, { maxOutputLength: MAX_BODY_BYTES });
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(error);
    throw malformed("The body is not whole zstd.", error);
  }
}

async function joined(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const held: Uint8Array[] = [];
  for await (const chunk of chunks) held.push(chunk);
  return held.length === 1 && held[0] ? held[0] : Buffer.concat(held);
}

function malformed(text: string, cause: unknown): AppError {
  return new AppError("bad_request", text, { cause });
}

function tooLarge(cause?: unknown): AppError {
  const text = `The body is larger than the ${MAX_BODY_BYTES} bytes allowed, unpacked; send fewer runs at once.`;
  return new AppError("too_large", text, { cause });
}
