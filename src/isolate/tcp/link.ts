import { env } from "cloudflare:workers";
import { TCP_BINDING, type TcpEgress, type TcpSession } from "../environment-contract.ts";
import { track } from "../globals/pending-work.ts";
import { Call, OPENER_ENDED } from "./calls.ts";
import { LatePromise } from "./late-promise.ts";
import type { LiveCall, OwnSocket } from "./lending.ts";

export type LinkOptions = {
  isSecure: boolean;
  /** The name in the server's certificate, where it is not the host. */
  servername?: string | undefined;
  /** Resolves `closed` when the other side ends, as sockets of `cloudflare:sockets` do. */
  closesAtEnd: boolean;
};

type TlsOptions = { expectedServerHostname?: string };

/**
 * The runtime cannot start TLS while a read waits. Drivers start TLS directly after an answer, among the first bytes.
 * So until this many bytes were read, each read of a plain socket after the first is delayed.
 */
const PLAIN_BYTES = 64 * 1024;
const BEFORE_READ_MS = 1;

/** The egress refuses a write of more than 256 KiB. */
const WRITE_BYTES = 128 * 1024;

export function openLink(address: string, options: LinkOptions): Link {
  const egress = Reflect.get(env, TCP_BINDING) as TcpEgress | undefined;
  const home = Call.current;
  const session = openIn(home, () => openSession(egress, address, options));
  return new Link(home, session, options);
}

/** Opens a session in the call `home`. What waits for it continues there: the current call may be over before. */
function openIn(home: Call, open: () => Promise<TcpSession>): LatePromise<TcpSession> {
  const session = new LatePromise<TcpSession>();
  const opening = home.do(() => {
    const opened = open();
    session.follow(opened);
    return opened;
  });
  track(opening).catch((error: unknown) => session.reject(error));
  return session;
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

/**
 * A socket with the interface of `cloudflare:sockets`. The socket itself is in the egress, as an RPC object of the call
 * that opened it: each step runs in that call.
 */
export class Link implements OwnSocket {
  readonly secureTransport: "on" | "starttls";
  readonly opened = new LatePromise<object>();
  readonly closed = new LatePromise();
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
  /** Whether TLS has started: another link has the socket then. */
  upgraded = false;
  /** Closes the socket of `node:net` that uses this link. */
  onClose: (() => void) | undefined;
  readonly users = new Set<LiveCall>();
  isClosed = false;
  readonly #home: Call;
  readonly #session: LatePromise<TcpSession>;
  readonly #options: LinkOptions;
  #lastWrite: Promise<void> = Promise.resolve();
  #bytesRead = 0;
  /** Whether the connection has ended before the owner is notified. */
  #isSilent = false;
  /** Whether bytes were sent, and none received since. */
  #isAwaited = false;
  #usedAt = Date.now();

  constructor(home: Call, session: LatePromise<TcpSession>, options: LinkOptions) {
    this.#home = home;
    home.own(this);
    this.#session = session;
    this.#options = options;
    this.secureTransport = options.isSecure ? "on" : "starttls";
    session.then(
      () => this.opened.resolve({}),
      (error: unknown) => this.#failToOpen(error),
    );
    this.readable = new ReadableStream({ type: "bytes", pull: (at) => this.#pull(at) });
    this.writable = new WritableStream({
      write: (chunk) => {
        this.#lastWrite = this.#write(chunk);
        return this.#lastWrite;
      },
      close: () => this.#do((session) => session.end()),
      abort: () => this.close(),
    });
  }

  get idle_ms(): number {
    return this.#isAwaited ? 0 : Date.now() - this.#usedAt;
  }

  /** Does `work` in the call that opened the socket. */
  atHome<T>(work: () => Promise<T>): Promise<T> {
    this.#usedAt = Date.now();
    this.#home.lend(this);
    return this.#home.do(work);
  }

  #do<T>(work: (session: TcpSession) => Promise<T>): Promise<T> {
    return this.atHome(async () => work(await this.#session));
  }

  startTls(options: TlsOptions = {}): Link {
    this.upgraded = true;
    this.isClosed = true;
    this.#home.disown(this);
    const lastWrite = this.#lastWrite;
    const session = openIn(this.#home, async () => {
      await lastWrite;
      const plain = await this.#session;
      await plain.startTls(options.expectedServerHostname).finally(() => this.closed.resolve());
      return plain;
    });
    return new Link(this.#home, session, { ...this.#options, isSecure: true });
  }

  #failToOpen(error: unknown) {
    this.opened.reject(error);
    this.closed.reject(error);
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#home.disown(this);
    if (!this.#isSilent) await this.#end();
    this.closed.resolve();
  }

  async disconnect(): Promise<void> {
    if (this.#isSilent) return;
    this.#isSilent = true;
    await this.#end();
  }

  notify() {
    // Does not wait for the disconnect: until the event "close" a pool would give the socket to runs.
    void this.disconnect();
    if (this.onClose) this.onClose();
    else void this.close();
  }

  async #end(): Promise<void> {
    const end = async (session: TcpSession) => {
      await session.close().catch(() => {});
      session[Symbol.dispose]?.();
    };
    await this.#do(end).catch(() => {});
  }

  async #pull(controller: ReadableByteStreamController): Promise<void> {
    try {
      const bytes = await this.#unlessSilent(this.#do((session) => this.#read(session)));
      if (bytes !== null) return controller.enqueue(bytes as Uint8Array<ArrayBuffer>);
    } catch (error) {
      if (!this.upgraded) return this.#fail(controller, error);
    }
    controller.close();
    controller.byobRequest?.respond(0);
    if (this.#options.closesAtEnd) this.closed.resolve();
  }

  /** Returns the result of `work`, but never settles after a silent end: the owner is notified in another call. */
  async #unlessSilent<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } finally {
      if (this.#isSilent) await new Promise(() => {});
    }
  }

  async #read(session: TcpSession): Promise<Uint8Array | null> {
    const mayUpgrade = !this.#options.isSecure && this.#bytesRead < PLAIN_BYTES;
    if (mayUpgrade && this.#bytesRead > 0) {
      await scheduler.wait(BEFORE_READ_MS);
    }
    if (this.upgraded) return null;
    const bytes = await session.read();
    this.#isAwaited = false;
    this.#bytesRead += bytes?.byteLength ?? 0;
    return bytes;
  }

  #fail(controller: ReadableByteStreamController, error: unknown): void {
    controller.error(error);
    this.closed.reject(error);
  }

  async #write(chunk: Uint8Array | ArrayBuffer): Promise<void> {
    const bytes = new Uint8Array(chunk);
    this.#isAwaited = true;
    if (this.#isSilent) throw new Error(OPENER_ENDED);
    for (let at = 0; at < bytes.byteLength; at += WRITE_BYTES) {
      const part = bytes.slice(at, at + WRITE_BYTES);
      await this.#unlessSilent(track(this.#do((session) => session.write(part))));
    }
  }
}
