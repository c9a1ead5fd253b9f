/**
 * A promise that outlives the call in which it was made. Handlers that wait for it are attached in the call that
 * settles it: workerd runs no handler of a call that has ended.
 */
export class LatePromise<Value = void> implements PromiseLike<Value> {
  #outcome: Promise<Value> | null = null;
  readonly #waiting: ((outcome: Promise<Value>) => void)[] = [];

  resolve(value: Value) {
    this.follow(Promise.resolve(value));
  }

  reject(error: unknown) {
    this.follow(Promise.reject(error));
  }

  // biome-ignore lint/suspicious/noThenProperty: sockets of `cloudflare:sockets` have a promise here
  then<T = Value, E = never>(
    onResolved?: ((value: Value) => T | PromiseLike<T>) | null,
    onRejected?: ((error: unknown) => E | PromiseLike<E>) | null,
  ): Promise<T | E> {
    if (this.#outcome !== null) return this.#outcome.then(onResolved, onRejected);
    return new Promise((resolve, reject) => {
      this.#waiting.push((outcome) => {
        outcome.then(onResolved, onRejected).then(resolve, reject);
      });
    });
  }

  catch<E>(onRejected: (error: unknown) => E | PromiseLike<E>): Promise<Value | E> {
    return this.then(null, onRejected);
  }

  finally(work: () => void): Promise<Value> {
    return this.then().finally(work);
  }

  /** Settles as `outcome` does, which the current call has made. Has no effect on one that follows another or is settled. */
  follow(outcome: Promise<Value>) {
    // Without handlers, a rejection must not count as unhandled.
    outcome.catch(() => {});
    if (this.#outcome !== null) return;
    this.#outcome = outcome;
    for (const settle of this.#waiting.splice(0)) settle(outcome);
  }
}
