/**
 * A promise that outlives the call in which it was made. Handlers that wait for it are attached in the call that
 * settles it: workerd runs no handler of a call that has ended.
 */
export class LatePromise implements PromiseLike<void> {
  #outcome: Promise<void> | null = null;
  readonly #waiting: ((outcome: Promise<void>) => void)[] = [];

  resolve() {
    this.#settle(Promise.resolve());
  }

  reject(error: unknown) {
    this.#settle(Promise.reject(error));
  }

  // biome-ignore lint/suspicious/noThenProperty: sockets of `cloudflare:sockets` have a promise here
  then<T = void, E = never>(
    onResolved?: (() => T | PromiseLike<T>) | null,
    onRejected?: ((error: unknown) => E | PromiseLike<E>) | null,
  ): Promise<T | E> {
    if (this.#outcome !== null) return this.#outcome.then(onResolved, onRejected);
    return new Promise((resolve, reject) => {
      this.#waiting.push((outcome) => {
        outcome.then(onResolved, onRejected).then(resolve, reject);
      });
    });
  }

  catch(onRejected: (error: unknown) => void): Promise<void> {
    return this.then(null, onRejected);
  }

  finally(work: () => void): Promise<void> {
    return this.then().finally(work);
  }

  #settle(outcome: Promise<void>) {
    // Without handlers, a rejection must not count as unhandled.
    outcome.catch(() => {});
    if (this.#outcome !== null) return;
    this.#outcome = outcome;
    for (const settle of this.#waiting.splice(0)) settle(outcome);
  }
}
