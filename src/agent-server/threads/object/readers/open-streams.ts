import { toByteStream } from "../../../../shared/http/sse.ts";

/** Counts the streams that clients have not read to their end: their thread must stay in its object. */
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
