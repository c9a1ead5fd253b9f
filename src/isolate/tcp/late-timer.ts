const startTimer = globalThis.setTimeout;
const stopTimer = globalThis.clearTimeout;

type RuntimeTimer = ReturnType<typeof setTimeout>;

/**
 * A timer that moves from call to call until it fires or is cleared. It has the methods `ref`, `unref`, `hasRef` and
 * `close` of a timer of Node.js; `ref` and `unref` have no effect.
 */
export class LateTimer {
  readonly #fire: () => void;
  readonly #ms: number;
  /** Starts an interval for its next time. */
  readonly #again: ((timer: LateTimer) => void) | undefined;
  #due_ms: number | undefined;
  /**
   * The calls in which this timer may fire, as their sets of timers, each with the runtime's timer that was started in it.
   */
  readonly #holders = new Map<Set<LateTimer>, RuntimeTimer | undefined>();
  #isOver = false;

  /** @param again makes the timer an interval: adds it to a call */
  constructor(
    callback: (...args: unknown[]) => void,
    ms: unknown,
    args: unknown[],
    again?: (timer: LateTimer) => void,
  ) {
    this.#fire = () => callback(...args);
    // Node.js accepts a delay as text too, such as one from process.env.
    this.#ms = Math.max(again ? 1 : 0, Number(ms) || 0);
    this.#again = again;
  }

  /** Adds the timer to those of a call, until it fires or is cleared. */
  joinTo(timers: Set<LateTimer>) {
    if (this.#isOver || timers.has(this)) return;
    this.#holders.set(timers, undefined);
    timers.add(this);
  }

  /** Starts a timer of the runtime for the time that is left, in the current call, whose timers are `timers`. */
  start(timers: Set<LateTimer>) {
    if (!timers.has(this)) return;
    this.#due_ms ??= Date.now() + this.#ms;
    stopTimer(this.#holders.get(timers));
    const timer = startTimer(() => {
      if (this.#isOver) return;
      this.#leaveAll();
      this.#isOver = this.#again === undefined;
      this.#again?.(this);
      this.#fire();
    }, this.#due_ms - Date.now());
    this.#holders.set(timers, timer);
  }

  /** Removes the timer from those of a call that is over. */
  leave(timers: Set<LateTimer>) {
    stopTimer(this.#holders.get(timers));
    this.#holders.delete(timers);
    timers.delete(this);
  }

  close() {
    this.#isOver = true;
    this.#leaveAll();
    return this;
  }

  #leaveAll() {
    this.#due_ms = undefined;
    for (const [timers, timer] of this.#holders) {
      stopTimer(timer);
      timers.delete(this);
    }
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
