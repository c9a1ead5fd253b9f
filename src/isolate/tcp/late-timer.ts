const startTimer = globalThis.setTimeout;
const stopTimer = globalThis.clearTimeout;

/**
 * A timer that moves from call to call until it fires or is cleared. It has the methods `ref`, `unref`, `hasRef` and
 * `close` of a timer of Node.js; `ref` and `unref` have no effect.
 */
export class LateTimer {
  readonly #fire: () => void;
  readonly #ms: number;
  #due_ms: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Sets of timers that contain this one: those of the calls in which it may fire. */
  readonly #holders = new Set<Set<LateTimer>>();
  #isOver = false;

  constructor(callback: (...args: unknown[]) => void, ms: unknown, args: unknown[]) {
    this.#fire = () => callback(...args);
    // Node.js accepts a delay as text too, such as one from process.env.
    this.#ms = Number(ms) || 0;
  }

  /** Adds the timer to those of a call, until it fires or is cleared. */
  joinTo(timers: Set<LateTimer>) {
    if (this.#isOver) return;
    this.#holders.add(timers);
    timers.add(this);
  }

  /** Starts a timer of the runtime in the current call, for the time that is left. */
  start() {
    if (this.#isOver) return;
    this.#due_ms ??= Date.now() + this.#ms;
    this.#timer = startTimer(() => {
      if (this.#isOver) return;
      this.#end();
      this.#fire();
    }, this.#due_ms - Date.now());
  }

  /** Removes the timer from those of a call that is over. */
  leave(timers: Set<LateTimer>) {
    stopTimer(this.#timer);
    this.#holders.delete(timers);
    timers.delete(this);
  }

  close() {
    stopTimer(this.#timer);
    this.#end();
    return this;
  }

  #end() {
    this.#isOver = true;
    for (const timers of this.#holders) timers.delete(this);
    this.#holders.clear();
  }

  ref() {
    return this;
  }

  unref() {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}
