import { isSendable } from "../../../shared/http/sockets.ts";
import { log } from "../../../shared/log.ts";
import { SerialQueue } from "../../../shared/work/serial-queue.ts";
import { threadSession } from "../callbacks.ts";
import { invalidArgument, isFailure, readCommand, readParams } from "../events/envelope.ts";
import type { ProtocolEvent } from "../events/event.ts";
import { channelsOf, type EventFilter } from "../events/filter.ts";
import {
  MAX_COMMAND_CHARACTERS,
  MAX_SOCKET_CHARACTERS,
  MAX_SOCKETS,
  MAX_SUBSCRIPTIONS,
  RECHECK_MS,
  SETTLE_MS,
} from "../events/limits.ts";
import { LogReader } from "../events/log-reader.ts";
import { joined, pageOf, textsOf, upToEnd } from "../events/replay.ts";
import { type Command, Subscribe, Unsubscribe } from "../events/schema.ts";
import type { Refused, Session, Subscription } from "../events/session.ts";
import type { ThreadStore } from "../storage/store.ts";
import { SendBudget } from "./send-budget.ts";
import { attach, attachmentOf, refuse, send, sendWithin } from "./socket-io.ts";

/** What such a run tells comes after the answer: clients take a question of before it for the one they have answered. */
const BEGINS_A_RUN = new Set(["run.start", "input.respond"]);

/** What is known of a socket while its object is awake. */
type Line = {
  /** Keeps what is sent in order. */
  queue: SerialQueue;
  isDue: boolean;
  reader: LogReader | null;
  checked_at: number;
  /** Until then it may well subscribe to more. */
  settles_at: number;
  budget: SendBudget;
};

type Thread = {
  ctx: DurableObjectState;
  store: ThreadStore;
  isOver: (run_id: string) => boolean;
  isThere: () => boolean;
};

/**
 * The sockets that watch a thread. What they subscribe to is attached to them and outlives the object's memory:
 * an object may sleep between two events of its thread.
 */
export class Sockets {
  readonly #thread: Thread;
  readonly #lines = new WeakMap<WebSocket, Line>();

  constructor(thread: Thread) {
    this.#thread = thread;
  }

  accept(session: Session): Response {
    const { 0: client, 1: server } = new WebSocketPair();
    const { ctx } = this.#thread;
    const isFull = ctx.getWebSockets().length >= MAX_SOCKETS;
    ctx.acceptWebSocket(server);
    if (isFull) {
      refuse(server, {
        status: 429,
        message: `The limit of ${MAX_SOCKETS} sockets of a thread is reached: close one first.`,
      });
    } else if (!attach(server, { session, subscriptions: [], next: 1, since: 0 })) {
      const message = "The x- headers of the request exceed the limit of a socket: send fewer.";
      refuse(server, { status: 413, message });
    }
    return new Response(null, { status: 101, webSocket: client });
  }

  /** The thread has something new to tell. */
  wake() {
    for (const socket of this.#thread.ctx.getWebSockets()) {
      const line = this.#lineOf(socket);
      if (line.isDue) continue;
      line.isDue = true;
      void this.#inTurn(socket, () => {
        line.isDue = false;
        return this.#deliver(socket, line);
      });
    }
  }

  /** The thread is gone. */
  closeAll(refused: Refused) {
    for (const socket of this.#thread.ctx.getWebSockets()) refuse(socket, refused);
  }

  /** A client that closes waits for its own word back. */
  closed(socket: WebSocket, code: number, reason: string) {
    socket.close(isSendable(code) ? code : 1000, reason);
  }

  async message(socket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    const command = commandOf(data);
    if (isFailure(command)) return send(socket, { type: "error", id: null, ...command });
    if (command.method === "subscription.subscribe") {
      return this.#inTurn(socket, () => this.#subscribe(socket, command));
    }
    if (command.method === "subscription.unsubscribe") {
      return this.#inTurn(socket, async () => this.#unsubscribe(socket, command));
    }
    const { session } = attachmentOf(socket);
    const carryOut = async () => {
      if (session.expires_at !== null && !(await this.#isLetIn(socket, this.#lineOf(socket))))
        return;
      socket.send(await threadSession(session).command(String(data)));
    };
    return BEGINS_A_RUN.has(command.method) ? this.#inTurn(socket, carryOut) : carryOut();
  }

  async #subscribe(socket: WebSocket, command: Command): Promise<void> {
    const { id } = command;
    const params = readParams(Subscribe, command);
    if (isFailure(params)) return send(socket, { type: "error", id, ...params });
    if (!(await this.#isLetIn(socket, this.#lineOf(socket)))) return;
    const { channels, namespaces = null, depth = null } = params.ok;
    const subscription = this.#add(socket, { channels, namespaces, depth });
    if (!subscription) {
      const text = `The limit of ${MAX_SUBSCRIPTIONS} subscriptions of a socket, or of their size, is reached: unsubscribe from one.`;
      return send(socket, { type: "error", id, ...invalidArgument(text) });
    }
    this.#lineOf(socket).settles_at = Date.now() + SETTLE_MS;
    await this.#replay(socket, subscription, id);
  }

  /** Null: it is one too many. */
  #add(socket: WebSocket, filter: EventFilter): Subscription | null {
    const attachment = attachmentOf(socket);
    if (attachment.subscriptions.length >= MAX_SUBSCRIPTIONS) return null;
    const own = {
      ...filter,
      id: `subscription-${attachment.next}`,
      since: Number.MAX_SAFE_INTEGER,
    };
    const subscriptions = [...attachment.subscriptions, own];
    const isKept = attach(socket, { ...attachment, subscriptions, next: attachment.next + 1 });
    return isKept ? own : null;
  }

  /** The answer first, then what is there for the new subscription; from then on it is told with the others. */
  async #replay(socket: WebSocket, own: Subscription, id: number) {
    const { store, isOver, isThere } = this.#thread;
    const reader = isThere() ? new LogReader(store, isOver, channelsOf([own]), 0) : null;
    const first = pageOf(reader, own);
    const replayed = first.isWhole ? { replayed_events: first.texts.length } : {};
    const result = { subscription_id: own.id, ...replayed };
    await store.durable();
    send(socket, { type: "success", id, result, meta: this.#meta(socket) });
    let page = first;
    for (; ; page = pageOf(reader, own)) {
      if (!sendWithin(socket, page.texts, this.#lineOf(socket).budget)) return;
      if (page.isWhole) break;
      await store.durable();
    }
    attach(socket, joined(attachmentOf(socket), own.id, page.since));
    this.#lineOf(socket).reader = null;
    this.wake();
  }

  #unsubscribe(socket: WebSocket, command: Command) {
    const { id } = command;
    const params = readParams(Unsubscribe, command);
    if (isFailure(params)) return send(socket, { type: "error", id, ...params });
    const { subscriptions, ...attachment } = attachmentOf(socket);
    const { subscription_id } = params.ok;
    const others = subscriptions.filter((known) => known.id !== subscription_id);
    if (others.length === subscriptions.length) {
      const message = `The socket has no subscription ${subscription_id}.`;
      return send(socket, { type: "error", id, error: "no_such_subscription", message });
    }
    attach(socket, { ...attachment, subscriptions: others });
    this.#lineOf(socket).reader = null;
    send(socket, { type: "success", id, result: {}, meta: this.#meta(socket) });
  }

  #meta(socket: WebSocket) {
    const { session, since } = attachmentOf(socket);
    return { thread_id: session.thread_id, applied_through_seq: since };
  }

  async #deliver(socket: WebSocket, line: Line): Promise<void> {
    const { store, isOver, isThere } = this.#thread;
    const { subscriptions, since } = attachmentOf(socket);
    if (subscriptions.length === 0 || !isThere() || !(await this.#isLetIn(socket, line))) return;
    line.reader ??= new LogReader(store, isOver, channelsOf(subscriptions), since);
    while (isThere()) {
      const events = line.reader.next();
      if (events === null) break;
      await store.durable();
      const { told, held } = dueOf(events, line);
      if (!sendWithin(socket, textsOf(told, subscriptions), line.budget)) return;
      if (held) return this.#hold(socket, line, held);
      attach(socket, { ...attachmentOf(socket), since: line.reader.since });
    }
  }

  /** It goes on from this event when the socket has had time to subscribe to all it wants. */
  #hold(socket: WebSocket, line: Line, { seq }: ProtocolEvent) {
    attach(socket, { ...attachmentOf(socket), since: seq - 1 });
    line.reader = null;
    setTimeout(() => this.wake(), line.settles_at - Date.now());
  }

  /** False: its caller may not read any more, and the socket is closed. */
  async #isLetIn(socket: WebSocket, line: Line): Promise<boolean> {
    if (line.checked_at + RECHECK_MS > Date.now()) return true;
    const { session } = attachmentOf(socket);
    const refused = await threadSession(session).mayRead();
    if (refused) refuse(socket, refused);
    // Who may read a thread is not known before it is there.
    else if (this.#thread.isThere()) line.checked_at = Date.now();
    return refused === null;
  }

  #lineOf(socket: WebSocket): Line {
    const known = this.#lines.get(socket);
    if (known) return known;
    const line = {
      queue: new SerialQueue(),
      isDue: false,
      reader: null,
      checked_at: 0,
      settles_at: 0,
      budget: new SendBudget(MAX_SOCKET_CHARACTERS),
    };
    this.#lines.set(socket, line);
    return line;
  }

  #inTurn(socket: WebSocket, work: () => Promise<void>): Promise<void> {
    const done = this.#lineOf(socket).queue.run(work);
    return done.catch((error: unknown) => {
      if (socket.readyState !== WebSocket.OPEN) return;
      log.error("socket_failed", error);
      socket.close(1011, "Internal error");
    });
  }
}

/** Returns the events to send now, and the end of a run that is held until the socket has subscribed. */
function dueOf(events: ProtocolEvent[], { settles_at }: Line) {
  return settles_at > Date.now() ? upToEnd(events) : { told: events };
}

function commandOf(data: string | ArrayBuffer) {
  if (typeof data !== "string")
    return invalidArgument("A command must be a text message, not a binary one.");
  if (data.length <= MAX_COMMAND_CHARACTERS) return readCommand(data);
  return invalidArgument(`A command must have at most ${MAX_COMMAND_CHARACTERS} characters.`);
}
