/** Event of a stream. `data` is JSON on one line, because a line break would end the field. */
export type SentEvent = { id: number | string; event: string; data: string };

type Signal = { text: string; every_ms: number };

/** Comment that clients of server-sent events treat as activity. */
export const SSE_HEARTBEAT: Signal = { text: ": heartbeat\n\n", every_ms: 5_000 };
/** Whitespace that may precede the JSON of a response. */
export const JSON_HEARTBEAT: Signal = { text: "\n", every_ms: 3_000 };

/** Heartbeats that keep proxies from dropping an idle stream. */
export class Heartbeat {
  readonly #signal: Signal;
  #sentAt = Date.now();

  constructor(signal: Signal) {
    this.#signal = signal;
  }

  /** Time until the next heartbeat is due. */
  get remaining_ms(): number {
    return Math.max(this.#sentAt + this.#signal.every_ms - Date.now(), 0);
  }

  /** Returns the text, or a heartbeat when the text is empty and a heartbeat is due. */
  frame(text: string): string {
    if (text === "" && this.remaining_ms > 0) return "";
    this.#sentAt = Date.now();
    return text === "" ? this.#signal.text : text;
  }
}

export function toFrame({ id, event, data }: SentEvent): string {
  return `event: ${event}\ndata: ${data}\nid: ${id}\n\n`;
}

type StreamListener = {
  onCancel?: () => void;
  /** Called once, after the last chunk, an error or `onCancel`. */
  onEnd?: () => void;
};

/** Returns a stream of the chunks in UTF-8. Cancelling the stream calls `onCancel`, then ends the generator. */
export function toByteStream(
  chunks: AsyncGenerator<string, void>,
  { onCancel, onEnd }: StreamListener = {},
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let hasEnded = false;
  // A stream that is cancelled while it waits for a chunk ends again with that chunk.
  const end = () => {
    if (!hasEnded) onEnd?.();
    hasEnded = true;
  };
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      const value = await nextText(chunks).catch((error: unknown) => {
        end();
        throw error;
      });
      if (hasEnded) return;
      if (value !== null) return controller.enqueue(encoder.encode(value));
      end();
      controller.close();
      controller.byobRequest?.respond(0);
    },
    async cancel() {
      onCancel?.();
      end();
      await chunks.return();
    },
  });
}

/** Skips empty chunks, which byte streams reject. @returns `null` at the end */
async function nextText(chunks: AsyncGenerator<string, void>): Promise<string | null> {
  for (;;) {
    const { done, value } = await chunks.next();
    if (done || value === undefined) return null;
    if (value !== "") return value;
  }
}

export function sseResponse(stream: string | ReadableStream, headers: Record<string, string>) {
  return new Response(stream, {
    headers: {
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-cache",
      "X-Accel-Buffering": "no",
      ...headers,
    },
  });
}
