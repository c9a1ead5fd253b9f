import { toByteStream } from "../../../../shared/http/sse.ts";

/** Counts the response streams that clients still read. */
export class OpenStreams {
  #open = 0;

  get isEmpty(): boolean {
    return this.#open === 0;
  }

  open(chunks: AsyncGenerator<string, void>, onCancel: () => void = () => {}): ReadableStream {
    this.#open += 1;
    return toByteStream(chunks, {
      onCancel,
      onEnd: () => {
        this.#open -= 1;
      },
    });
  }
}
