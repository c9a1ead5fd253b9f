import type { AppError } from "../errors.ts";

/** Calls `end` once the reader of a stream may not read any more. @returns a function that ends the watch */
export type StreamWatch = (end: (refusal: AppError) => void) => () => void;

/**
 * Returns a copy of a stream that `watch` can end. Does not use `pipeTo`, which notices that the client has left only at
 * the next chunk. The source must know at once, because some runs end with their client.
 */
export function watchedStream(
  body: ReadableStream<Uint8Array>,
  watch: StreamWatch,
): ReadableStream {
  const reader = body.getReader();
  let stop = () => {};
  let isEnded = false;
  return new ReadableStream({
    type: "bytes",
    start(controller) {
      stop = watch((refusal) => {
        isEnded = true;
        stop();
        controller.error(refusal);
        void reader.cancel(refusal).catch(() => {});
      });
      // The watch may end the stream before it has returned.
      if (isEnded) stop();
    },
    async pull(controller) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        stop();
        throw error;
      });
      if (isEnded) return;
      if (!done) return controller.enqueue(value);
      stop();
      controller.close();
      controller.byobRequest?.respond(0);
    },
    cancel(reason) {
      stop();
      return reader.cancel(reason);
    },
  });
}
