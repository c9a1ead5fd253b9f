/** Callers of an object that wait for a change. Nothing is stored: other callers read the storage. */
export class Waiters {
  readonly #wakes = new Set<() => void>();

  wakeAll(): void {
    for (const wake of this.#wakes) wake();
    this.#wakes.clear();
  }

  /** Waits for `wakeAll`, at most `ms`. @returns whether it was called */
  wait(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#wakes.delete(wake);
        resolve(false);
      }, ms);
      this.#wakes.add(wake);
    });
  }
}
