import { AsyncLocalStorage } from "node:async_hooks";

/** Grace period after a run for work that it did not await, such as the clean-up after an abort. */
const GRACE_MS = 5000;
/**
 * Grace period while other calls are live, because the tracked work may belong to one of them: a queue in a module
 * starts each task in the async context of the task before it, which may be of another call.
 */
const SHARED_GRACE_MS = 25_000;
const POLL_MS = 50;
/**
 * Time without tracked work after which a run's work counts as done: the code may await a body, which is not tracked.
 */
const QUIET_MS = 200;
/** The same after an abort: clean-up may await anything. */
const QUIET_AFTER_ABORT_MS = 1000;

const startTimer = globalThis.setTimeout;
const stopTimer = globalThis.clearTimeout;

const current = new AsyncLocalStorage<PendingWork>();
/**
 * The run's work to which each timer belongs, because code of another context may clear the timer. Weak, because
 * nothing clears timers that end with their call.
 */
const owners = new WeakMap<object, PendingWork>();

/** Requests, store operations and timers of up to 5 seconds that a run has in progress. */
export class PendingWork {
  readonly #timers = new Set<unknown>();
  #calls = 0;
  #isAborted = false;

  run<T>(work: () => T): T {
    return current.run(this, work);
  }

  abort() {
    this.#isAborted = true;
  }

  /** Whether the call must continue after the end of the run. */
  get isLeft(): boolean {
    return this.#isAborted || this.#isBusy;
  }

  get #isBusy(): boolean {
    return this.#calls > 0 || this.#timers.size > 0;
  }

  /** Resolves when the work is done, or after the grace period. `isShared`: other calls are live. */
  async settled(isShared: () => boolean): Promise<void> {
    const start = Date.now();
    const quiet_ms = this.#isAborted ? QUIET_AFTER_ABORT_MS : QUIET_MS;
    let quietSince = start;
    const hasTime = () => Date.now() - start < (isShared() ? SHARED_GRACE_MS : GRACE_MS);
    while (hasTime() && Date.now() - quietSince < quiet_ms) {
      await new Promise((resolve) => startTimer(resolve, POLL_MS));
      if (this.#isBusy) quietSince = Date.now();
    }
  }

  async call<T>(promise: Promise<T>): Promise<T> {
    this.#calls += 1;
    try {
      return await promise;
    } finally {
      this.#calls -= 1;
    }
  }

  /** Starts a timer with `start`, and counts it as work until it fires or is cleared. Returns the timer. */
  trackTimer(start: (ended: () => void) => unknown): unknown {
    const timer = start(() => this.#timers.delete(timer));
    this.#timers.add(timer);
    if (isObject(timer)) owners.set(timer, this);
    return timer;
  }

  /** Stops counting a timer of any run, which is being cleared. */
  static forgetTimer(timer: unknown) {
    const owner = isObject(timer) ? owners.get(timer) : undefined;
    if (owner) owner.#timers.delete(timer);
  }
}

function isObject(timer: unknown): timer is object {
  return typeof timer === "object" && timer !== null;
}

/** Counts a promise as work of the current run until it settles. Outside of a run, returns it unchanged. */
export function track<T>(promise: Promise<T>): Promise<T> {
  return current.getStore()?.call(promise) ?? promise;
}

const fetchOutside = globalThis.fetch;
globalThis.fetch = (...args: Parameters<typeof fetch>) => track(fetchOutside(...args));

globalThis.setTimeout = new Proxy(startTimer, {
  apply(target, self, [callback, ms = 0, ...args]) {
    const work = current.getStore();
    // A longer timer cannot fire within the grace period, and most longer timers are time limits.
    if (!work || typeof callback !== "function" || ms > GRACE_MS) {
      return Reflect.apply(target, self, [callback, ms, ...args]);
    }
    return work.trackTimer((ended) => {
      const fire = (...given: unknown[]) => {
        ended();
        return callback(...given);
      };
      return Reflect.apply(target, self, [fire, ms, ...args]);
    });
  },
});

globalThis.clearTimeout = new Proxy(stopTimer, {
  apply(target, self, [timer]) {
    PendingWork.forgetTimer(timer);
    return Reflect.apply(target, self, [timer]);
  },
});
