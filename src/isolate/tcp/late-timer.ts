const startTimer = globalThis.setTimeout;
const stopTimer = globalThis.clearTimeout;

/** A timer that goes from call to call until it fires. Has the form of those of Node.js. */
export class LateTimer {
  readonly #fire: () => void;
  readonly #ms: number;
  #due_ms: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  isOver = false;

  constructor(callback: (...args: unknown[]) => void, ms: unknown, args: unknown[]) {
    this.#fire = () => callback(...args);
    // Node.js accepts a delay as text too, such as one from process.env.
    this.#ms = Number(ms) || 0;
  }

  /** Continues in the current call. */
  start() {
    if (this.isOver) return;
    this.#due_ms ??= Date.now() + this.#ms;
    this.#timer = startTimer(() => {
      if (this.isOver) return;
      this.isOver = true;
      this.#fire();
    }, this.#due_ms - Date.now());
  }

  pause() {
    stopTimer(this.#timer);
  }

  close() {
    this.isOver = true;
    this.pause();
    return this;
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
