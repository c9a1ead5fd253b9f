type Signal = { text: string; every_ms: number };

/** Comment that clients of server-sent events treat as activity. */
export const SSE_HEARTBEAT: Signal = { text: ": heartbeat\n\n", every_ms: 5_000 };
/** Whitespace before the JSON of a response. */
export const JSON_HEARTBEAT: Signal = { text: "\n", every_ms: 3_000 };

/** Heartbeats of an idle stream, which proxies would drop. */
export class Heartbeat {
  readonly #signal: Signal;
  #sentAt = Date.now();

  constructor(signal: Signal) {
    this.#signal = signal;
  }

  /** Time until the next heartbeat is due. */
  get remaining_ms(): number {
    return Math.max(this.#sentAt + this.#signal.every_ms - Date.now(), 0);
  }

  /** Returns the text, or a heartbeat when the text is empty and a heartbeat is due. */
  frame(text: string): string {
    if (text === "" && this.remaining_ms > 0) return "";
    this.#sentAt = Date.now();
    return text === "" ? this.#signal.text : text;
  }
}
