type Sign = { text: string; every_ms: number };

/** Of a stream of server-sent events, whose clients count comments as signs of life. */
export const HEARTBEAT: Sign = { text: ": heartbeat\n\n", every_ms: 5_000 };
/** Of an answer in JSON, before it begins. */
export const KEEP_ALIVE: Sign = { text: "\n", every_ms: 3_000 };

/** When a stream has been silent for too long: proxies drop such connections. */
export class Pulse {
  readonly #sign: Sign;
  #said_at = Date.now();

  constructor(sign: Sign) {
    this.#sign = sign;
  }

  /** How long the stream may still be silent. */
  get left_ms(): number {
    return Math.max(this.#said_at + this.#sign.every_ms - Date.now(), 0);
  }

  /** What is to be said now: the text, or the sign of life where it is empty and time for one. */
  say(text: string): string {
    if (text === "" && this.left_ms > 0) return "";
    this.#said_at = Date.now();
    return text === "" ? this.#sign.text : text;
  }
}
