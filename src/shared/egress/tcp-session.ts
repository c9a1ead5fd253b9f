import { RpcTarget } from "cloudflare:workers";

/** A socket that an agent uses by RPC. TLS starts on this side: the runtime offers none behind a `connect()` handler. */
export class TcpSession extends RpcTarget {
  readonly #host: string;
  #socket: Socket;
  #reader: ReadableStreamDefaultReader<Uint8Array>;
  #writer: WritableStreamDefaultWriter<Uint8Array>;

  constructor(socket: Socket, host: string) {
    super();
    this.#host = host;
    this.#socket = socket;
    this.#reader = socket.readable.getReader();
    this.#writer = socket.writable.getWriter();
  }

  /** A read that is in progress when TLS starts rejects. @returns `null` at the end */
  async read(): Promise<Uint8Array | null> {
    const { value } = await this.#reader.read();
    return value ?? null;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#writer.write(bytes);
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
    await this.#socket.close();
  }

  /** The run of the agent is over. */
  [Symbol.dispose](): void {
    void this.close().catch(() => {});
  }
}
