// Sockets of `node:net`, `node:tls` and `cloudflare:sockets` connect through the agent's egress.
import { connect } from "cloudflare:sockets";
import net from "node:net";
import { Duplex } from "node:stream";
import tls from "node:tls";
import { Link, openLink } from "./link.ts";

/** Private fields of workerd's `net.Socket`. */
type NetSocket = net.Socket & {
  /** Only a TLSSocket has these two. */
  encrypted?: boolean;
  servername?: string | null;
  _host: string;
  _handle: Handle;
  /** The socket on which a TLSSocket has started. */
  _parentWrap: net.Socket | null;
  _sockname: null;
  _undestroy(): void;
};

type Handle = {
  socket: Link;
  writer: WritableStreamDefaultWriter<Uint8Array>;
  reader: ReadableStreamBYOBReader;
  bytesRead: number;
  bytesWritten: number;
  reading: boolean;
  options: { host: string; port: number; addressType: number };
};

type OnAddress = (error: Error | null, address: string) => void;
type Lookup = (host: string, options: object, onAddress: OnAddress) => void;
type ConnectOptions = { host?: string; port?: number | string; path?: string; lookup?: Lookup };

/** A host name: for an IP address, the runtime would not call `lookup`. */
const ANY_NAME = "agent.invalid";

const { prototype } = net.Socket;
const netConnect = prototype.connect as (this: net.Socket, ...args: unknown[]) => net.Socket;

prototype.connect = function (this: NetSocket, ...args: unknown[]) {
  return netConnect.apply(this, divertArgs(this, args));
} as typeof prototype.connect;

/**
 * Returns the arguments with another `lookup`. The runtime calls `lookup` after it has prepared the socket; this file
 * then connects in place of the runtime.
 */
function divertArgs(socket: NetSocket, args: unknown[]): unknown[] {
  const [first, host] = args;
  if (Array.isArray(first)) {
    // `net.connect` has normalized its arguments, and marked the array.
    first[0] = divert(socket, first[0]);
    return args;
  }
  if (typeof first === "object" && first !== null) return [divert(socket, first), ...args.slice(1)];
  const options = { port: first as number, ...(typeof host === "string" && { host }) };
  return [divert(socket, options), ...args.filter((each) => typeof each === "function")];
}

function divert(socket: NetSocket, options: ConnectOptions): ConnectOptions {
  const { host = "localhost", port = 0, path, lookup } = options;
  if (path != null) return options;
  const open = (address: string) => openSocket(socket, address, Number(port), host);
  const own: Lookup = () => {
    if (lookup === undefined || net.isIP(host) !== 0) return open(host);
    lookup(host, options, (error, address) => (error ? socket.destroy(error) : open(address)));
  };
  return { ...options, host: ANY_NAME, lookup: own };
}

function openSocket(socket: NetSocket, host: string, port: number, name: string): void {
  const addressType = net.isIP(host);
  const isSecure = socket.encrypted === true;
  const servername = socket.servername ?? name;
  const link = openLink(addressType === 6 ? `[${host}]:${port}` : `${host}:${port}`, {
    isSecure,
    servername: servername === host ? undefined : servername,
    closesAtEnd: false,
  });
  socket._host = host;
  socket._sockname = null;
  socket._handle = {
    socket: link,
    writer: link.writable.getWriter(),
    reader: link.readable.getReader({ mode: "byob" }),
    bytesRead: 0,
    bytesWritten: 0,
    reading: false,
    options: { host, port, addressType },
  };
  socket._undestroy();
  workAtHome(socket, link);
  link.onClose = () => silence(socket).destroy();
  link.closed.catch((error) => void socket.destroy(error as Error));
  link.opened.then(
    () => announce(socket),
    () => {},
  );
}

/** Methods of a stream by which the runtime's socket reads and writes. */
const STEPS = ["_read", "_write", "_writev", "_final"] as const;

/**
 * Runs the loop that reads, and each write, in the call that opened the socket. In the call of a run that uses the
 * socket they would end with that run.
 */
function workAtHome(socket: net.Socket, link: Link): void {
  const { pause, resume, read } = Duplex.prototype;
  const steps = STEPS.map((name) => {
    const step = Reflect.get(socket, name) as (...args: unknown[]) => void;
    const atHome = (...args: unknown[]) => {
      const work = async () => step.apply(socket, args);
      link.atHome(work).catch((error: Error) => socket.destroy(error));
    };
    return [name, atHome];
  });
  // The runtime's own methods would start the loop in the call that uses them.
  Object.assign(socket, { pause, resume, read, ...Object.fromEntries(steps) });
}

function announce(socket: NetSocket): void {
  if (socket.destroyed) return;
  Object.assign(socket, { connecting: false });
  socket.emit("connect");
  socket.emit("ready");
  // Starts to read.
  if (!socket.isPaused()) socket.read(0);
}

/** Drops errors that listeners throw, and an event "error" without a listener: no run has caused them. */
function silence(socket: net.Socket): net.Socket {
  const emit = socket.emit as (...args: unknown[]) => boolean;
  const emitQuietly = (...args: unknown[]) => {
    try {
      return emit.apply(socket, args);
    } catch {
      return true;
    }
  };
  return Object.assign(socket, { emit: emitQuietly });
}

type WorkerOptions = { secureTransport?: "off" | "on" | "starttls" };

/**
 * Replaces `connect` of `cloudflare:sockets` in the agent's bundle. The runtime itself connects sockets without TLS.
 */
export function connectThroughEgress(
  address: string | SocketAddress,
  options: WorkerOptions = {},
): Socket | Link {
  const { secureTransport = "off" } = options;
  if (secureTransport === "off") return connect(address, options as SocketOptions);
  const host = typeof address === "string" ? address : `${address.hostname}:${address.port}`;
  return openLink(host, { isSecure: secureTransport === "on", closesAtEnd: true });
}

/** A TLS socket. `_start` begins TLS on the link of the plain socket, and gets a new link. */
type TlsSocket = tls.TLSSocket &
  Pick<NetSocket, "_parentWrap"> & { _start(): void; _handle: Handle | null };

const tlsPrototype = tls.TLSSocket.prototype as TlsSocket;
const startTls = tlsPrototype._start;

tlsPrototype._start = function (this: TlsSocket) {
  startTls.call(this);
  const link = this._handle?.socket;
  if (!(link instanceof Link)) return;
  const plain = this._parentWrap;
  if (plain) workAtHome(this, link);
  // Drivers listen to events of both sockets.
  this.once("close", () => plain?.destroy());
  link.onClose = () => {
    if (plain) silence(plain);
    silence(this).destroy();
  };
};

// The runtime refuses the option `checkServerIdentity` of `tls.connect`, which mysql2 always sends.
type ServerCheck = (...args: unknown[]) => Error | undefined;
type TlsOptions = { checkServerIdentity?: ServerCheck };

const tlsConnect = tls.connect as (...args: unknown[]) => tls.TLSSocket;

tls.connect = ((...args: unknown[]) => tlsConnect(...args.map(withoutCheck))) as typeof tls.connect;

/**
 * Omits the default check of the server's name, and a check that accepts all: the egress checks the name itself.
 * Another check stays, and the runtime refuses it.
 */
function withoutCheck(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { checkServerIdentity: check, ...others }: TlsOptions = value;
  const omits = check === tls.checkServerIdentity || (check && acceptsAll(check));
  return omits ? others : value;
}

/** Whether a check accepts each certificate: it has no parameters, and returns no error. */
function acceptsAll(check: ServerCheck): boolean {
  return check.length === 0 && check() === undefined;
}
