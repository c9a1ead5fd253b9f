/**
 * Progress of the reader of a graph's stream. The graph waits for the reader before it ends: when a graph fails, its
 * stream drops the unread chunks.
 */
export class Reading {
  #count = 0;
  #isBusy = false;

  /** Yields chunks. Each counts as being read until the next one is requested. */
  async *of<T>(chunks: AsyncIterable<T>): AsyncGenerator<T, void> {
    for await (const chunk of chunks) {
      this.#count += 1;
      this.#isBusy = true;
      try {
        yield chunk;
      } finally {
        // Also when the reader fails: closing `chunks` waits for the graph, which waits for the reader.
        this.#isBusy = false;
      }
    }
  }

  /** Resolves when all available chunks are read. */
  async caughtUp(): Promise<void> {
    for (let seen = -1; seen !== this.#count || this.#isBusy; ) {
      seen = this.#count;
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }
}
