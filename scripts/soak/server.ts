export type Answer = { status: number; headers: Headers; text: string };
type CallOptions = { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal };

/** Maximum time without a response: a killed Worker starts again, but takes long on a busy machine. */
const COMES_BACK_MS = 90_000;
const PAUSE_MS = 150;

/** Client of a server that may be killed. It repeats calls. */
export class Server {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  /** Answers with 500 or more outside of kills. */
  readonly broken: string[] = [];
  readonly #hasFaults: boolean;
  #failuresUntil = 0;

  /** @param hasFaults whether answers of 500 or more are expected at any time */
  constructor(url: string, api_key: string, { hasFaults } = { hasFaults: false }) {
    this.#hasFaults = hasFaults;
    this.#url = url;
    this.#headers = { "x-api-key": api_key };
  }

  /** Ignores answers of 500 or more for `ms` from now: the Worker is killed or restarts. */
  expectFailures(ms: number) {
    this.#failuresUntil = performance.now() + ms;
  }

  /** Makes one attempt. @returns `null` after a status of 500 or more, or without a response: the outcome is unknown */
  async once(method: string, path: string, options: CallOptions = {}): Promise<Response | null> {
    const { body, headers, signal } = options;
    try {
      const response = await fetch(this.#url + path, {
        method,
        headers: {
          ...this.#headers,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      });
      if (response.status < 500) return response;
      await this.#note(`${method} ${path}`, response);
      return null;
    } catch {
      return null;
    }
  }

  /** Repeats the request until there is a response. @throws Error after `COMES_BACK_MS` */
  async open(method: string, path: string, options: CallOptions = {}): Promise<Response> {
    const deadline = performance.now() + COMES_BACK_MS;
    for (;;) {
      const response = await this.once(method, path, options);
      if (response) return response;
      options.signal?.throwIfAborted();
      if (performance.now() > deadline) {
        throw new Error(`${method} ${path} got no answer for ${COMES_BACK_MS} ms`);
      }
      await pause(PAUSE_MS);
    }
  }

  /** Repeats the call until a complete answer arrives. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    for (;;) {
      const response = await this.open(method, path, options);
      const text = await response.text().catch(() => null);
      if (text !== null) return { status: response.status, headers: response.headers, text };
    }
  }

  /** Returns the JSON of an answer. @throws Error when its status is 300 or more */
  async json<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { status, text } = await this.call(method, path, { body });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text) as T;
  }

  async #note(what: string, response: Response) {
    const text = await response.text().catch(() => "");
    if (this.#hasFaults || performance.now() < this.#failuresUntil) return;
    this.broken.push(`${what}: ${response.status} ${text.slice(0, 200)}`);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
