/**
 * Maximum time for which a call keeps its sockets open for others: the runtime ends a call 30 seconds after its answer.
 */
const LEND_MS = 25_000;
/** Time after which also a socket in use closes, once no answer is due: at the maximum it would close in any case. */
const LONG_MS = 15_000;
/** Time without use after which a socket counts as unused: a run that took a connection from a pool uses it sooner. */
const IDLE_MS = 1000;
const POLL_MS = 100;
/** Time for a call to notify the owner of a socket: the runtime may have ended that call. */
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
  /** Time since its last use; 0 while an answer is due, which is until bytes come after the last write. */
  readonly idle_ms: number;
  /** Ends the connection, without an event for the owner. */
  disconnect(): Promise<void>;
  /** Closes the socket for its owner, such as a pool. */
  notify(): void;
};

/** Period after the end of a call in which its sockets stay open for other calls that use them. */
export class Lending {
  readonly #start = Date.now();

  /**
   * Waits until the owner has closed the socket, no other call is live, or the maximum time is over. Notifies the owner
   * when the socket is due, but does not disconnect it itself.
   */
  async waitForClose(socket: OwnSocket, live: ReadonlySet<LiveCall>): Promise<void> {
    while (!socket.isClosed) {
      const other = [...live].at(-1);
      if (other === undefined) return;
      if (!this.#isDue(socket)) {
        await wait(POLL_MS);
        continue;
      }
      await Promise.race([this.#notify(other, socket), wait(NOTIFY_MS)]);
      if (this.#ms > LEND_MS) return;
    }
  }

  /** Notifies the owner in another call, so that the owner can connect again there. */
  #notify(other: LiveCall, socket: OwnSocket): Promise<void> {
    return other.do(async () => {
      if (other.isLive && this.#isDue(socket)) socket.notify();
    });
  }

  get #ms(): number {
    return Date.now() - this.#start;
  }

  /** Whether the socket can be closed now. */
  #isDue({ users, idle_ms }: OwnSocket): boolean {
    if (this.#ms > LONG_MS) return this.#ms > LEND_MS || idle_ms > 0;
    return idle_ms > IDLE_MS && ![...users].some(({ isLive }) => isLive);
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
