import type { RunnableConfig } from "@langchain/core/runnables";
import { ERROR, type PendingWrite } from "@langchain/langgraph-checkpoint";
import { HostSaver } from "./saver.ts";

/** Progress of the reader of a graph's stream. */
export class Reading {
  #count = 0;
  #isBusy = false;

  /** Yields chunks, each of which is being read until the next is requested. */
  async *of<T>(chunks: AsyncIterable<T>): AsyncGenerator<T, void> {
    for await (const chunk of chunks) {
      this.#count += 1;
      this.#isBusy = true;
      yield chunk;
      this.#isBusy = false;
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

/**
 * Saves a failure after the reader has the stream: a failing graph drops unread chunks once its
 * failure is saved.
 */
export class PatientSaver extends HostSaver {
  readonly #reading: Reading;

  constructor(options: ConstructorParameters<typeof HostSaver>[0], reading: Reading) {
    super(options);
    this.#reading = reading;
  }

  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    task_id: string,
  ): Promise<void> {
    await super.putWrites(config, writes, task_id);
    if (writes.some(([channel]) => channel === ERROR)) await this.#reading.caughtUp();
  }
}
