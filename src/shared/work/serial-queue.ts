/** Runs calls one after the other, in order. A call that fails does not stop those behind it. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T> | T): Promise<T> {
    const result = this.#last.then(work);
    // Holds no result: the queue may live for hours, and the result may be large.
    this.#last = result.then(nothing, nothing);
    return result;
  }
}

function nothing(): void {}
