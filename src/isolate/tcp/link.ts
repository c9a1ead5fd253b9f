import { env } from "cloudflare:workers";
import { TCP_BINDING, type TcpEgress, type TcpSession } from "../environment-contract.ts";
import { track } from "../pending-work.ts";

export type LinkOptions = {
  isSecure: boolean;
  /** The name in the server's certificate, where it is not the host. */
  servername?: string | undefined;
  /** Resolves `closed` when the other side ends, as sockets of `cloudflare:sockets` do. */
  closesAtEnd: boolean;
};

type TlsOptions = { expectedServerHostname?: string };

/** The runtime cannot start TLS while a read waits. Drivers start it at once after an answer, among the first bytes. */
const PLAIN_BYTES = 64 * 1024;
const BEFORE_READ_MS = 1;

/** The egress refuses a write of more than 256 KiB. */
const WRITE_BYTES = 128 * 1024;

export function openLink(address: string, options: LinkOptions): Link {
  const egress = Reflect.get(env, TCP_BINDING) as TcpEgress | undefined;
  return new Link(track(openSession(egress, address, options)), options);
}

async function openSession(
  egress: TcpEgress | undefined,
  address: string,
  { isSecure, servername }: LinkOptions,
): Promise<TcpSession> {
  if (egress === undefined) throw new Error("Sockets are not available here.");
  if (!isSecure || servername === undefined) return egress.openTcp(address, isSecure);
  const session = await egress.openTcp(address, false);
  await session.startTls(servername);
  return session;
}

/** Has the form of the sockets of `cloudflare:sockets`. The egress holds the socket itself. */
export class Link {
  readonly secureTransport: "on" | "starttls";
  readonly opened: Promise<object>;
  readonly closed: Promise<void>;
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
  /** TLS has started: another link has the socket. */
  upgraded = false;
  readonly #session: Promise<TcpSession>;
  readonly #options: LinkOptions;
  readonly #over = Promise.withResolvers<void>();
  #lastWrite: Promise<void> = Promise.resolve();
  #bytesRead = 0;

  constructor(session: Promise<TcpSession>, options: LinkOptions) {
    this.#session = session;
    this.#options = options;
    this.secureTransport = options.isSecure ? "on" : "starttls";
    this.opened = session.then(() => ({}));
    this.closed = this.#over.promise;
    this.opened.catch((error: unknown) => this.#over.reject(error));
    this.closed.catch(() => {});
    this.readable = new ReadableStream({ type: "bytes", pull: (at) => this.#pull(at) });
    this.writable = new WritableStream({
      write: (chunk) => {
        this.#lastWrite = this.#write(chunk);
        return this.#lastWrite;
      },
      close: async () => (await this.#session).end(),
      abort: () => this.close(),
    });
  }

  startTls(options: TlsOptions = {}): Link {
    this.upgraded = true;
    const upgrade = async () => {
      await this.#lastWrite;
      const session = await this.#session;
      await session.startTls(options.expectedServerHostname).finally(() => this.#over.resolve());
      return session;
    };
    return new Link(track(upgrade()), { ...this.#options, isSecure: true });
  }

  async close(): Promise<void> {
    const session = await this.#session.catch(() => null);
    await session?.close().catch(() => {});
    session?.[Symbol.dispose]?.();
    this.#over.resolve();
  }

  async #pull(controller: ReadableByteStreamController): Promise<void> {
    try {
      const bytes = await this.#read();
      if (bytes !== null) return controller.enqueue(bytes as Uint8Array<ArrayBuffer>);
    } catch (error) {
      if (!this.upgraded) return this.#fail(controller, error);
    }
    controller.close();
    controller.byobRequest?.respond(0);
    if (this.#options.closesAtEnd) this.#over.resolve();
  }

  async #read(): Promise<Uint8Array | null> {
    const session = await this.#session;
    const mayUpgrade = !this.#options.isSecure && this.#bytesRead < PLAIN_BYTES;
    if (mayUpgrade && this.#bytesRead > 0) {
      await new Promise((resolve) => setTimeout(resolve, BEFORE_READ_MS));
    }
    if (this.upgraded) return null;
    const bytes = await session.read();
    this.#bytesRead += bytes?.byteLength ?? 0;
    return bytes;
  }

  #fail(controller: ReadableByteStreamController, error: unknown): void {
    controller.error(error);
    this.#over.reject(error);
  }

  async #write(chunk: Uint8Array | ArrayBuffer): Promise<void> {
    const bytes = new Uint8Array(chunk);
    const session = await this.#session;
    for (let at = 0; at < bytes.byteLength; at += WRITE_BYTES) {
      await track(session.write(bytes.slice(at, at + WRITE_BYTES)));
    }
  }
}
