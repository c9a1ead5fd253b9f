import type { RunnableConfig } from "@langchain/core/runnables";
import { ERROR, type PendingWrite } from "@langchain/langgraph-checkpoint";
import { HostSaver } from "./saver.ts";

/** How far the reader of a graph's stream is. */
export class Reading {
  #count = 0;
  #isBusy = false;

  /** What is read, one after the other, each until the next is asked for. */
  async *of<T>(chunks: AsyncIterable<T>): AsyncGenerator<T, void> {
    for await (const chunk of chunks) {
      this.#count += 1;
      this.#isBusy = true;
      yield chunk;
      this.#isBusy = false;
    }
  }

  /** Everything that was there to read is read. */
  async caughtUp(): Promise<void> {
    for (let seen = -1; seen !== this.#count || this.#isBusy; ) {
      seen = this.#count;
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }
}

/**
 * A graph that fails drops what its stream holds unread, once its failure is saved: here that is after
 * the reader has it all, the last words of the node that failed above all.
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
