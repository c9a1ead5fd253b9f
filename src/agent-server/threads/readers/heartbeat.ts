type Sign = { text: string; every_ms: number };

/** Of a stream of server-sent events, whose clients count comments as signs of life. */
export const SSE_HEARTBEAT: Sign = { text: ": heartbeat\n\n", every_ms: 5_000 };
/** Of an answer in JSON, before it begins. */
export const JSON_HEARTBEAT: Sign = { text: "\n", every_ms: 3_000 };

/** When a stream has been silent for too long: proxies drop such connections. */
export class Heartbeat {
  readonly #sign: Sign;
  #sentAt = Date.now();

  constructor(sign: Sign) {
    this.#sign = sign;
  }

  /** How long the stream may still be silent. */
  get remaining_ms(): number {
    return Math.max(this.#sentAt + this.#sign.every_ms - Date.now(), 0);
  }

  /** What is to be said now: the text, or the sign of life where it is empty and time for one. */
  frame(text: string): string {
    if (text === "" && this.remaining_ms > 0) return "";
    this.#sentAt = Date.now();
    return text === "" ? this.#sign.text : text;
  }
}
