import type { NewEvent } from "./event-batches.ts";

/** First event of a run, without a row until the next batch: the row of the run implies it. */
export type ImpliedEvent = NewEvent & { id: number; run_id: string };

/** The event that has no row, read at its first use. */
export class ImpliedEvents {
  readonly #read: () => ImpliedEvent | null;
  #event: ImpliedEvent | null | undefined;

  constructor(read: () => ImpliedEvent | null) {
    this.#read = read;
  }

  /** @returns `null` also before the first use */
  get known(): ImpliedEvent | null {
    return this.#event ?? null;
  }

  /** Returns the event, unless it has a row. `lastRow` returns the greatest id of a row. */
  after(lastRow: () => number): ImpliedEvent | null {
    if (this.#event === undefined) {
      const read = this.#read();
      this.#event = read !== null && read.id > lastRow() ? read : null;
    }
    return this.#event;
  }

  set(event: ImpliedEvent | null) {
    this.#event = event;
  }

  clear() {
    this.#event = undefined;
  }
}
