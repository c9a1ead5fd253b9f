import { RpcTarget } from "cloudflare:workers";

/** Limit of the bytes that wait on one socket. Agents of other tenants share the memory of this isolate. */
const PENDING_BYTES = 256 * 1024;
/** Limit of the sockets of a deployment in this isolate. */
const OPEN_SOCKETS = 128;

/** Time without a byte after which a socket is closed: agents may forget to close sockets. */
const IDLE_MS = 15 * 60_000;

const openSockets = new Map<string, number>();

/**
 * Counts a socket of a deployment.
 * @returns a function that stops counting it, of which only the first call has an effect
 * @throws Error at the limit
 */
export function countSocket(deployment_id: string, onRelease: () => void): () => void {
  const count = openSockets.get(deployment_id) ?? 0;
  if (count >= OPEN_SOCKETS) {
    throw new Error(
      `Heddle refused this connection: the agent has ${OPEN_SOCKETS} open sockets. Close some first.`,
    );
  }
  openSockets.set(deployment_id, count + 1);
  let isCounted = true;
  return () => {
    if (!isCounted) return;
    isCounted = false;
    const left = (openSockets.get(deployment_id) ?? 1) - 1;
    if (left === 0) openSockets.delete(deployment_id);
    else openSockets.set(deployment_id, left);
    onRelease();
  };
}

/** A socket that an agent uses by RPC. TLS starts on this side: the runtime offers none behind a `connect()` handler. */
export class TcpSession extends RpcTarget {
  readonly #host: string;
  readonly #release: () => void;
  readonly #idleMs: number;
  #socket: Socket;
  #reader: ReadableStreamDefaultReader<Uint8Array>;
  #writer: WritableStreamDefaultWriter<Uint8Array>;
  #isReading = false;
  #pendingBytes = 0;
  #usedAt = Date.now();
  #idleTimer: ReturnType<typeof setTimeout>;

  /** `release`: called when the socket is closed. */
  constructor(socket: Socket, host: string, release: () => void, idle_ms = IDLE_MS) {
    super();
    this.#host = host;
    this.#release = release;
    this.#idleMs = idle_ms;
    this.#socket = socket;
    this.#reader = socket.readable.getReader();
    this.#writer = socket.writable.getWriter();
    this.#idleTimer = this.#closeIdle(idle_ms);
  }

  #closeIdle(wait_ms: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      const left_ms = this.#usedAt + this.#idleMs - Date.now();
      if (left_ms > 0) this.#idleTimer = this.#closeIdle(left_ms);
      else void this.close().catch(() => {});
    }, wait_ms);
  }

  /** Rejects when TLS starts during the read. @returns `null` at the end of the stream */
  async read(): Promise<Uint8Array | null> {
    if (this.#isReading) throw new Error("A read of this socket is in progress.");
    this.#isReading = true;
    try {
      const { value } = await this.#reader.read();
      this.#usedAt = Date.now();
      return value ?? null;
    } finally {
      this.#isReading = false;
    }
  }

  /** Heddle's code in the agent's isolate awaits each write. Refuses other code that lets too many bytes wait. */
  async write(bytes: Uint8Array): Promise<void> {
    if (!(bytes instanceof Uint8Array)) throw new TypeError("A socket sends bytes.");
    // A view keeps its whole buffer in memory.
    const size = bytes.buffer.byteLength;
    if (this.#pendingBytes + size > PENDING_BYTES) {
      throw new Error(`More than ${PENDING_BYTES} bytes wait on this socket. Await the writes.`);
    }
    this.#pendingBytes += size;
    try {
      await this.#writer.write(bytes);
      this.#usedAt = Date.now();
    } finally {
      this.#pendingBytes -= size;
    }
  }

  async end(): Promise<void> {
    await this.#writer.close();
  }

  /** `name`: the name in the server's certificate. */
  async startTls(name: string | undefined): Promise<void> {
    this.#reader.releaseLock();
    this.#writer.releaseLock();
    // Cloudflare refuses the option, so it is set only where it changes something.
    const isOther = name !== undefined && name !== this.#host;
    this.#socket = this.#socket.startTls(isOther ? { expectedServerHostname: name } : {});
    this.#reader = this.#socket.readable.getReader();
    this.#writer = this.#socket.writable.getWriter();
    await this.#socket.opened;
  }

  async close(): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.#release();
    await this.#socket.close();
  }

  /** Called by the runtime when the run of the agent is over. */
  [Symbol.dispose](): void {
    void this.close().catch(() => {});
  }
}
