// The listener of a stack. It passes requests to the Worker, and bounds what clients hold of the machine. A request whose
// headers, or whose body up to `collected_bytes`, do not arrive costs the Worker nothing.
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type RequestOptions,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { type BodyStart, collectBody, isRefusal } from "./body.ts";
import { CallerCounts, callerOf, isLoopback, plainAddress } from "./callers.ts";
import type { Limits } from "./limits.ts";
import {
  answerUnread,
  headOf,
  type Refusal,
  refuse,
  refuseBroken,
  refuseSocket,
  setClient,
  withoutHopByHop,
} from "./wire.ts";

export type Front = { close(): Promise<void> };

type FrontOptions = {
  port: number;
  /** Path of the socket on which the Worker listens. */
  socket: string;
  limits: Limits;
};

const CLIENT_IDLE_MS = 75_000;
const RECONNECT_MS = 50;
const MAX_REFUSAL_BYTES = 64 * 1024;
/** Codes of errors of a connection that the Worker has not accepted, so that the request can be sent again. */
const NOT_CONNECTED = ["ENOENT", "ECONNREFUSED", "EAGAIN"];
const BUSY: Refusal = { status: 429, detail: "Too many requests at once: end some, then retry." };
const UNREAD: Refusal = { status: 503, detail: "The service did not take the body. Retry." };
const STARTING: Refusal = { status: 503, detail: "The service starts. Retry in a moment." };

export async function startFront(options: FrontOptions): Promise<Front> {
  const front = new FrontServer(options);
  await front.listen(options.port);
  return front;
}

class FrontServer implements Front {
  readonly #limits: Limits;
  /** A new connection for each request: the Worker may close an idle one while a request is on its way to it. */
  readonly #worker: RequestOptions;
  readonly #server: Server;
  readonly #connections = new CallerCounts();
  readonly #requests = new CallerCounts();
  readonly #uploads = new CallerCounts();
  /** Bytes of all bodies that are being collected. */
  readonly #collected = { bytes: 0 };
  /** For each response, the bytes that its reader had taken when `#endStalled` last saw progress, and the time. */
  readonly #responses = new Map<ServerResponse, { bytes: number; since_ms: number }>();
  readonly #stallTimer: ReturnType<typeof setInterval>;

  constructor({ socket, limits }: FrontOptions) {
    this.#limits = limits;
    this.#worker = { socketPath: socket, agent: false, setHost: false };
    this.#server = createServer({
      maxHeaderSize: limits.header_bytes,
      headersTimeout: limits.header_ms,
      connectionsCheckingInterval: Math.min(1000, limits.header_ms),
      requestTimeout: 0,
      // Other upgrades, such as h2c of Java's client, are ignored.
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
      keepAliveTimeout: CLIENT_IDLE_MS,
    });
    this.#server.maxConnections = limits.connections;
    this.#server.on("connection", (socket: Socket) => this.#admit(socket));
    this.#server.on("request", (incoming, response) => void this.#serve(incoming, response));
    this.#server.on("upgrade", (incoming, socket) => this.#upgrade(incoming, socket));
    this.#server.on("clientError", (error, socket) => refuseBroken(error, socket as Socket));
    this.#stallTimer = setInterval(() => this.#endStalled(), limits.stalled_ms / 2);
    this.#stallTimer.unref();
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", resolve);
    });
  }

  close(): Promise<void> {
    clearInterval(this.#stallTimer);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    return closed;
  }

  #admit(socket: Socket): void {
    const address = plainAddress(socket.remoteAddress);
    if (isLoopback(address)) return;
    if (!this.#connections.enter(address, this.#limits.connections_per_address)) {
      socket.destroy();
      return;
    }
    socket.once("close", () => this.#connections.leave(address));
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const caller = callerOf(incoming);
    if (!this.#requests.enter(caller.key, this.#limits.requests_per_caller)) {
      return refuse(response, BUSY);
    }
    response.once("close", () => this.#requests.leave(caller.key));
    const body = await collectBody(incoming, caller, this.#limits, this.#collected);
    if (response.destroyed) return;
    if (isRefusal(body)) return refuse(response, body);
    if (!body.is_whole && !this.#uploads.enter(caller.key, this.#limits.uploads_per_caller)) {
      return refuse(response, BUSY);
    }
    if (!body.is_whole) response.once("close", () => this.#uploads.leave(caller.key));
    this.#pass(incoming, response, body);
  }

  /** Waits for a Worker that restarts. A request that it may have read is not sent again. */
  #pass(incoming: IncomingMessage, response: ServerResponse, body: BodyStart): void {
    const until = Date.now() + this.#limits.restart_ms;
    let attempt: ClientRequest | undefined;
    response.once("close", () => attempt?.destroy());
    const send = () => {
      if (response.destroyed) return;
      const outgoing = request(this.#optionsOf(incoming, body));
      attempt = outgoing;
      outgoing.once("response", (answer) => {
        if (isRefusalOfUpload(outgoing, answer)) void this.#passRefusal(answer, incoming, response);
        else this.#answer(answer, response);
      });
      outgoing.once("error", ({ code = "" }: NodeJS.ErrnoException) => {
        if (!NOT_CONNECTED.includes(code)) this.#cutOff(incoming, outgoing, response);
        else if (Date.now() > until) refuse(response, STARTING);
        else setTimeout(send, RECONNECT_MS);
      });
      write(incoming, outgoing, body);
    };
    send();
  }

  /**
   * Handles a lost connection to the Worker. A Worker that has not received the whole body has done nothing with it, so
   * the client may retry.
   */
  #cutOff(incoming: IncomingMessage, outgoing: ClientRequest, response: ServerResponse): void {
    // The client has left, or has its answer.
    if (response.destroyed || response.headersSent) return;
    if (outgoing.writableFinished) response.destroy();
    else answerUnread(incoming, response, UNREAD);
  }

  #optionsOf(incoming: IncomingMessage, body: BodyStart): RequestOptions {
    const { method = "GET", url: path = "/" } = incoming;
    const headers = withoutHopByHop(incoming.rawHeaders);
    setClient(headers, incoming);
    if (body.is_whole && body.bytes > 0 && incoming.headers["content-length"] === undefined) {
      headers.push("content-length", String(body.bytes));
    } else if (!body.is_whole && incoming.headers["content-length"] === undefined) {
      headers.push("transfer-encoding", "chunked");
    }
    return { ...this.#worker, method, path, headers };
  }

  /**
   * Passes on a refusal as a whole: while the body still arrives, the Worker may close the connection in the middle of
   * the refusal.
   */
  async #passRefusal(
    answer: IncomingMessage,
    incoming: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    incoming.unpipe().resume();
    const body = await buffer(answer).catch(() => null);
    if (response.destroyed || response.headersSent) return;
    if (body === null) return answerUnread(incoming, response, UNREAD);
    const { statusCode = 502, statusMessage = "", rawHeaders } = answer;
    response.writeHead(statusCode, statusMessage, withoutHopByHop(rawHeaders)).end(body);
  }

  #answer(answer: IncomingMessage, response: ServerResponse): void {
    const { statusCode = 502, statusMessage = "", rawHeaders } = answer;
    response.writeHead(statusCode, statusMessage, withoutHopByHop(rawHeaders));
    response.flushHeaders();
    this.#responses.set(response, { bytes: 0, since_ms: performance.now() });
    response.once("close", () => this.#responses.delete(response));
    answer.once("error", () => response.destroy());
    answer.once("aborted", () => response.destroy());
    answer.pipe(response);
  }

  #upgrade(incoming: IncomingMessage, socket: Duplex): void {
    const { key } = callerOf(incoming);
    socket.on("error", () => socket.destroy());
    if (!this.#requests.enter(key, this.#limits.requests_per_caller)) {
      refuseSocket(socket, BUSY);
      return;
    }
    socket.once("close", () => this.#requests.leave(key));
    const { method = "GET", url: path = "/" } = incoming;
    const headers = [...incoming.rawHeaders];
    setClient(headers, incoming);
    const outgoing = request({ ...this.#worker, method, path, headers });
    socket.once("close", () => outgoing.destroy());
    outgoing.once("error", () => socket.destroy());
    outgoing.once("response", (answer) => {
      socket.write(headOf(answer, withoutHopByHop(answer.rawHeaders), "connection: close"));
      answer.pipe(socket);
    });
    outgoing.once("upgrade", (answer, worker, head) => {
      worker.on("error", () => worker.destroy());
      worker.once("close", () => socket.destroy());
      socket.once("close", () => worker.destroy());
      socket.write(headOf(answer, answer.rawHeaders));
      socket.write(head);
      worker.pipe(socket);
      socket.pipe(worker);
    });
    outgoing.end();
  }

  /** Ends responses whose readers have taken nothing for too long. */
  #endStalled(): void {
    const now = performance.now();
    for (const [response, last] of this.#responses) {
      const bytes = response.socket?.bytesWritten ?? 0;
      const isWaiting = response.writableNeedDrain && bytes === last.bytes;
      if (!isWaiting) this.#responses.set(response, { bytes, since_ms: now });
      else if (now - last.since_ms >= this.#limits.stalled_ms) response.destroy();
    }
  }
}

/** Whether the Worker refuses an upload before its end, with a short text. */
function isRefusalOfUpload(
  { writableFinished }: ClientRequest,
  { statusCode = 0, headers }: IncomingMessage,
): boolean {
  const length = Number(headers["content-length"] ?? Number.POSITIVE_INFINITY);
  return !writableFinished && statusCode >= 400 && length <= MAX_REFUSAL_BYTES;
}

function write(incoming: IncomingMessage, outgoing: ClientRequest, body: BodyStart): void {
  for (const chunk of body.chunks) outgoing.write(chunk);
  if (body.is_whole) {
    outgoing.end();
    return;
  }
  // The rest of a body can be sent once, so it waits for a connection: an attempt without one is repeated.
  outgoing.once("socket", (socket) => {
    socket.once("connect", () => {
      body.resume(outgoing);
      incoming.once("error", () => outgoing.destroy());
    });
  });
}
