// Sockets of `node:net`, `node:tls` and `cloudflare:sockets` connect through the agent's egress.
import { connect } from "cloudflare:sockets";
import net from "node:net";
import tls from "node:tls";
import { type Link, openLink } from "./link.ts";

/** Fields of workerd's `net.Socket` that its own `connect` sets. */
type NetSocket = net.Socket & {
  /** Only a TLSSocket has these two. */
  encrypted?: boolean;
  servername?: string | null;
  _host: string;
  _handle: Handle;
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

/** A name, because the runtime looks up no addresses. */
const ANY_NAME = "agent.invalid";

const { prototype } = net.Socket;
const netConnect = prototype.connect as (this: net.Socket, ...args: unknown[]) => net.Socket;

prototype.connect = function (this: NetSocket, ...args: unknown[]) {
  return netConnect.apply(this, divertArgs(this, args));
} as typeof prototype.connect;

/** The runtime prepares the socket and calls `lookup`, from where this file continues in its place. */
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
  link.closed.catch((error: Error) => socket.destroy(error));
  link.opened.then(
    () => announce(socket),
    () => {},
  );
}

function announce(socket: NetSocket): void {
  if (socket.destroyed) return;
  Object.assign(socket, { connecting: false });
  socket.emit("connect");
  socket.emit("ready");
  // Starts to read.
  if (!socket.isPaused()) socket.read(0);
}

type WorkerOptions = { secureTransport?: "off" | "on" | "starttls" };

/** Takes the place of `connect` of `cloudflare:sockets` in the agent's bundle. */
function connectThroughEgress(
  address: string | SocketAddress,
  options: WorkerOptions = {},
): Socket | Link {
  const { secureTransport = "off" } = options;
  if (secureTransport === "off") return connect(address, options as SocketOptions);
  const host = typeof address === "string" ? address : `${address.hostname}:${address.port}`;
  return openLink(host, { isSecure: secureTransport === "on", closesAtEnd: true });
}

Reflect.set(globalThis, Symbol.for("heddle:connect"), connectThroughEgress);

// The runtime refuses the option `checkServerIdentity` of `tls.connect`, which mysql2 always sends.
type ServerCheck = (...args: unknown[]) => Error | undefined;
type TlsOptions = { checkServerIdentity?: ServerCheck };

const tlsConnect = tls.connect as (...args: unknown[]) => tls.TLSSocket;

tls.connect = ((...args: unknown[]) => tlsConnect(...args.map(withoutCheck))) as typeof tls.connect;

/** Omits a check of the name, which the egress makes itself. One that demands more stays, and is refused. */
function withoutCheck(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { checkServerIdentity: check, ...others }: TlsOptions = value;
  const omits = check === tls.checkServerIdentity || (check && acceptsAll(check));
  return omits ? others : value;
}

/** A check without parameters sees no certificate. */
function acceptsAll(check: ServerCheck): boolean {
  return check.length === 0 && check() === undefined;
}
