/** When a stream has been silent for too long: proxies drop such connections, and clients count signs of life. */
export class Pulse {
  readonly #ms: number;
  #said_at = Date.now();

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** How long the stream may still be silent. */
  get left_ms(): number {
    return Math.max(this.#said_at + this.#ms - Date.now(), 0);
  }

  /** What is to be said now: the text, or the sign of life where it is empty and time for one. */
  say(text: string, sign: string): string {
    if (text === "" && this.left_ms > 0) return "";
    this.#said_at = Date.now();
    return text === "" ? sign : text;
  }
}
