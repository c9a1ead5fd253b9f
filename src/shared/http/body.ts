import { Buffer } from "node:buffer";
import { AppError } from "../errors.ts";
import { ISOLATE_BUDGET, type Reserve } from "../work/memory-budget.ts";
import { withTimeout } from "../work/timeout.ts";

export type ByteChunks = AsyncIterable<Uint8Array>;

/** Size of a read. Default chunks are a few kilobytes, and each read has a fixed cost. */
const CHUNK_BYTES = 128 * 1024;
/**
 * Maximum time of one read, and maximum delay behind MIN_BYTES_PER_MS in total. A slower sender would keep other
 * requests waiting for memory.
 */
const MAX_PAUSE_MS = 30_000;
const MIN_BYTES_PER_MS = 64;
/** Time after which the bytes of a body are released while its consumer, such as an agent's app, reads no further. */
const MAX_HOLD_MS = 10_000;

/** Reserves nothing, for bytes that are reserved elsewhere or not kept. */
export const NOTHING: Reserve = async () => {};

/** Runs work that reads a body. Holds the reserved bytes until the work ends or calls `release`. */
export function holdBody<T>(
  work: (reserve: Reserve, release: () => void) => Promise<T>,
): Promise<T> {
  return ISOLATE_BUDGET.hold(work);
}

/** Reads a byte stream in chunks of CHUNK_BYTES. Other streams, which are made by code, keep their chunks. */
export async function* chunksOf(
  stream: ReadableStream<Uint8Array>,
  max_pause_ms = MAX_PAUSE_MS,
): AsyncGenerator<Uint8Array> {
  const { read, cancel } = readerOf(stream);
  let isWhole = false;
  let pause_ms = max_pause_ms;
  try {
    while (!isWhole) {
      const started_at = Date.now();
      const { value, done } = await withTimeout(read(), Math.min(pause_ms, max_pause_ms), () =>
        paused(max_pause_ms),
      );
      isWhole = done;
      pause_ms += (value?.byteLength ?? 0) / MIN_BYTES_PER_MS - (Date.now() - started_at);
      if (value && value.byteLength > 0) yield value;
    }
  } finally {
    // Not awaited: a source in another isolate may not answer before its caller has the response.
    if (!isWhole) void cancel().catch(() => {});
  }
}

function readerOf(stream: ReadableStream<Uint8Array>) {
  try {
    const reader = stream.getReader({ mode: "byob" });
    const read = () => reader.readAtLeast(CHUNK_BYTES, new Uint8Array(CHUNK_BYTES));
    return { read, cancel: () => reader.cancel() };
  } catch {
    const reader = stream.getReader();
    return { read: () => reader.read(), cancel: () => reader.cancel() };
  }
}

/** Reserves each chunk before it is yielded. @throws AppError `too_large` beyond the limit */
export async function* admitted(
  chunks: ByteChunks,
  max_bytes: number,
  reserve: Reserve,
): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of chunks) {
    total += chunk.byteLength;
    if (total > max_bytes) throw tooLarge(max_bytes);
    await reserve(chunk.byteLength);
    yield chunk;
  }
}

/** Body that reserves the bytes that are read. Keeps the `failure` that ended its stream, which a parser may hide. */
export class AdmittedBody {
  readonly stream: ReadableStream<Uint8Array>;
  #failure: AppError | null = null;
  readonly #release: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    body: ReadableStream<Uint8Array>,
    max_bytes: number,
    reserve: Reserve,
    release = () => {},
  ) {
    this.#release = release;
    const chunks = admitted(chunksOf(body), max_bytes, reserve);
    const source = {
      pull: (controller: ReadableStreamDefaultController<Uint8Array>) =>
        this.#pull(chunks, controller),
      cancel: async () => {
        await chunks.return(undefined);
      },
    };
    // Reads nothing before its consumer does.
    this.stream = new ReadableStream<Uint8Array>(source, { highWaterMark: 0 });
  }

  /** Stops the timer that releases the bytes: the consumer is done. */
  end(): void {
    clearTimeout(this.#timer);
  }

  get failure(): AppError | null {
    return this.#failure;
  }

  async #pull(
    chunks: AsyncGenerator<Uint8Array>,
    controller: ReadableStreamDefaultController<Uint8Array>,
  ): Promise<void> {
    clearTimeout(this.#timer);
    try {
      const { value, done } = await chunks.next();
      this.#timer = setTimeout(this.#release, MAX_HOLD_MS);
      if (done) controller.close();
      else controller.enqueue(value);
    } catch (error) {
      if (error instanceof AppError) this.#failure = error;
      throw error;
    }
  }
}

export async function joined(chunks: ByteChunks): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
}

export function tooLarge(max_bytes: number): AppError {
  return new AppError(
    "too_large",
    `The body has more than ${max_bytes} bytes: send a smaller one.`,
  );
}

function paused(ms: number): never {
  throw new AppError(
    "request_timeout",
    `The body came with pauses of ${ms / 1000} s, or slower than 64 KB a second: send it without pauses.`,
  );
}
