import type { RunListener } from "./cases.ts";

/**
 * Time without the end of a run after which the soak gives up: a run takes a second, a killed Worker some seconds more.
 */
const STALLED_MS = 90_000;
const LOOK_MS = 500;

/** Runs in flight, and the time of the last end. */
export class Progress implements RunListener {
  accepted_count = 0;
  ended_count = 0;
  readonly #open = new Set<string>();
  #last_end = performance.now();

  accepted(run: string) {
    this.accepted_count++;
    this.#open.add(run);
  }

  ended(run: string) {
    this.ended_count++;
    this.#open.delete(run);
    this.#last_end = performance.now();
  }

  /** Resolves when no run has ended for `STALLED_MS`. */
  stall(): Promise<null> {
    return new Promise((resolve) => {
      const timer = setInterval(() => {
        if (performance.now() - this.#last_end < STALLED_MS) return;
        clearInterval(timer);
        resolve(null);
      }, LOOK_MS);
      timer.unref();
    });
  }

  /** Returns a finding for each run in flight. */
  open(): string[] {
    return [...this.#open].map((run) => `${run} did not end for its client in ${STALLED_MS} ms`);
  }
}
