import type { StackInfo } from "../local/stack.ts";

export type Answer = { status: number; headers: Headers; text: string };
type CallOptions = { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal };

/** A Worker that was killed comes back; on a busy machine not at once. */
const COMES_BACK_MS = 90_000;
const PAUSE_MS = 150;

/** The agent server of one deployment, as a client sees it that does not give up. */
export class Server {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  /** Answers with 500 or more outside of kills. */
  readonly broken: string[] = [];
  #down_until = 0;

  constructor({ base_url, api_key }: StackInfo, deployment_id: string) {
    this.#url = `${base_url}/agents/${deployment_id}`;
    this.#headers = { "x-api-key": api_key };
  }

  /** From now on, and for so long after it is up again, an answer may be that of a Worker that dies. */
  down(ms: number) {
    this.#down_until = performance.now() + ms;
  }

  /** A single attempt. @returns `null` when the connection broke: the outcome is unknown */
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

  /** Until there is an answer. */
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

  /** JSON of an answer that must be a good one. */
  async json<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { status, text } = await this.call(method, path, { body });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text) as T;
  }

  async #note(what: string, response: Response) {
    const text = await response.text().catch(() => "");
    if (performance.now() < this.#down_until) return;
    this.broken.push(`${what}: ${response.status} ${text.slice(0, 200)}`);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
