import type { Server } from "./server.ts";

/**
 * A server that executes runs of steps. Each run has a key, and runs of one key wait for each other where the peer can
 * order them.
 */
export type Peer = {
  readonly name: string;
  readonly server: Server;
  /** Resolves once the server answers. A start after a kill finds the stored data. */
  start(): Promise<void>;
  /** Resolves when the run has ended. */
  run(key: string, steps: number): Promise<unknown>;
  /** Resolves when the run is accepted. */
  enqueue(key: string, steps: number): Promise<unknown>;
  /** Returns the number of steps that have ended, of all runs of the key. */
  steps(key: string): Promise<number>;
};

/** Sends JSON and returns the JSON of the answer. Any status but 2xx is an error. */
export async function send(url: string, body?: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(url, {
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    headers: { "Content-Type": "application/json", ...headers },
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${text}`);
  return text === "" ? null : (JSON.parse(text) as unknown);
}
