import type { IncomingMessage } from "node:http";

/** Headers that a caller is recognized by. */
const CREDENTIALS = ["x-api-key", "authorization", "cookie"] as const;

export type Caller = { key: string; is_anonymous: boolean };

/** Identifies a caller by its credentials, else by its address. Verifies nothing: the Worker does that. */
export function callerOf({ headers, socket }: IncomingMessage): Caller {
  const name = CREDENTIALS.find((each) => headers[each] !== undefined);
  if (name !== undefined) return { key: `${name} ${headers[name]}`, is_anonymous: false };
  return {
    key: clientAddress(headers["cf-connecting-ip"], socket.remoteAddress),
    is_anonymous: true,
  };
}

/** Returns the address of the client, which a proxy on this machine can name in CF-Connecting-IP. */
export function clientAddress(
  named: string | string[] | undefined,
  remote: string | undefined,
): string {
  const address = plainAddress(remote);
  return isLoopback(address) && typeof named === "string" && named !== "" ? named : address;
}

export function plainAddress(address = ""): string {
  return address.replace(/^::ffff:/, "");
}

export function isLoopback(address: string): boolean {
  return address === "::1" || address.startsWith("127.");
}

/** Counts what each caller has at once. */
export class CallerCounts {
  readonly #counts = new Map<string, number>();

  /** @returns `false` when the caller has as many as it may */
  enter(key: string, limit: number): boolean {
    const count = this.#counts.get(key) ?? 0;
    if (count >= limit) return false;
    this.#counts.set(key, count + 1);
    return true;
  }

  leave(key: string): void {
    const count = this.#counts.get(key) ?? 0;
    if (count > 1) this.#counts.set(key, count - 1);
    else this.#counts.delete(key);
  }
}
