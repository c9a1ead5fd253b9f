/** The runtime ends a call 30 seconds after its answer. */
const LEND_MS = 25_000;
/** After it the next pause ends a socket, so that the end of the time interrupts no run. */
const LONG_MS = 15_000;
/** A run that has taken a connection from a pool uses it sooner. */
const IDLE_MS = 1000;
const POLL_MS = 100;
const NOTIFY_MS = 1000;

/** A call whose own work is in progress. */
export type LiveCall = {
  readonly isLive: boolean;
  do<T>(work: () => Promise<T>): Promise<T>;
};

/** A socket of the call that opened it. */
export type OwnSocket = {
  /** Other calls that have used it. */
  readonly users: Set<LiveCall>;
  readonly isClosed: boolean;
  /** Time since its last use; 0 while an answer is due. */
  readonly idle_ms: number;
  /** Ends the connection, without a word to the owner. */
  disconnect(): Promise<void>;
  /** Closes the socket for its owner, such as a pool. */
  notify(): void;
};

/** Time after the end of a call in which its sockets serve those that have used them. */
export class Lending {
  readonly #start = Date.now();

  /** Returns when the owner has closed the socket, or when no call is live in which it could. */
  async close(socket: OwnSocket, live: ReadonlySet<LiveCall>): Promise<void> {
    while (!socket.isClosed) {
      const other = [...live].at(-1);
      if (other === undefined) return;
      if (!this.#isDue(socket)) {
        await wait(POLL_MS);
        continue;
      }
      // The runtime may have ended the other call without a word.
      await Promise.race([this.#notify(other, socket), wait(NOTIFY_MS)]);
      if (this.#ms > LEND_MS) return;
    }
  }

  /** In another call, where the owner may connect again. */
  #notify(other: LiveCall, socket: OwnSocket): Promise<void> {
    return other.do(async () => {
      if (other.isLive && this.#isDue(socket)) socket.notify();
    });
  }

  get #ms(): number {
    return Date.now() - this.#start;
  }

  #isDue({ users, idle_ms }: OwnSocket): boolean {
    if (this.#ms > LONG_MS) return this.#ms > LEND_MS || idle_ms > 0;
    return idle_ms > IDLE_MS && ![...users].some(({ isLive }) => isLive);
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
