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

/** Queues the events of these runs behind the command's reply: clients match interrupts by order. */
const BEGINS_A_RUN = new Set(["run.start", "input.respond"]);

/** State of a socket while its object is in memory. */
type SocketState = {
  /** Keeps what is sent in order. */
  queue: SerialQueue;
  isDue: boolean;
  reader: LogReader | null;
  checkedAt: number;
  /** Until then the socket may subscribe to more. */
  settlesAt: number;
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
  readonly #states = new WeakMap<WebSocket, SocketState>();

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

  wake() {
    for (const socket of this.#thread.ctx.getWebSockets()) {
      const state = this.#stateOf(socket);
      if (state.isDue) continue;
      state.isDue = true;
      void this.#inTurn(socket, () => {
        state.isDue = false;
        return this.#deliver(socket, state);
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
      if (session.expires_at !== null && !(await this.#isAuthorized(socket, this.#stateOf(socket))))
        return;
      socket.send(await threadSession(session).command(String(data)));
    };
    return BEGINS_A_RUN.has(command.method) ? this.#inTurn(socket, carryOut) : carryOut();
  }

  async #subscribe(socket: WebSocket, command: Command): Promise<void> {
    const { id } = command;
    const params = readParams(Subscribe, command);
    if (isFailure(params)) return send(socket, { type: "error", id, ...params });
    if (!(await this.#isAuthorized(socket, this.#stateOf(socket)))) return;
    const { channels, namespaces = null, depth = null, since } = params.ok;
    const subscription = this.#add(socket, { channels, namespaces, depth });
    if (!subscription) {
      const text = `The limit of ${MAX_SUBSCRIPTIONS} subscriptions of a socket, or of their size, is reached: unsubscribe from one.`;
      return send(socket, { type: "error", id, ...invalidArgument(text) });
    }
    this.#stateOf(socket).settlesAt = Date.now() + SETTLE_MS;
    await this.#replay(socket, subscription, since ?? 0, id);
  }

  /** @returns `null` when the socket has no room for another subscription */
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

  /** Replies, then replays the log after `since`. Later events come with those of the other subscriptions. */
  async #replay(socket: WebSocket, own: Subscription, since: number, id: number) {
    const { store, isOver, isThere } = this.#thread;
    const reader = isThere() ? new LogReader(store, isOver, channelsOf([own]), since) : null;
    const first = pageOf(reader, own);
    const replayed = first.isWhole ? { replayed_events: first.texts.length } : {};
    const result = { subscription_id: own.id, ...replayed };
    await store.durable();
    send(socket, { type: "success", id, result, meta: this.#meta(socket) });
    let page = first;
    for (; ; page = pageOf(reader, own)) {
      if (!sendWithin(socket, page.texts, this.#stateOf(socket).budget)) return;
      if (page.isWhole) break;
      await store.durable();
    }
    attach(socket, joined(attachmentOf(socket), own.id, page.since));
    this.#stateOf(socket).reader = null;
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
    this.#stateOf(socket).reader = null;
    send(socket, { type: "success", id, result: {}, meta: this.#meta(socket) });
  }

  #meta(socket: WebSocket) {
    const { session, since } = attachmentOf(socket);
    return { thread_id: session.thread_id, applied_through_seq: since };
  }

  async #deliver(socket: WebSocket, state: SocketState): Promise<void> {
    const { store, isOver, isThere } = this.#thread;
    const { subscriptions, since } = attachmentOf(socket);
    if (subscriptions.length === 0 || !isThere() || !(await this.#isAuthorized(socket, state)))
      return;
    state.reader ??= new LogReader(store, isOver, channelsOf(subscriptions), since);
    while (isThere()) {
      const events = state.reader.next();
      if (events === null) break;
      await store.durable();
      const { due, held } = dueOf(events, state);
      if (!sendWithin(socket, textsOf(due, subscriptions), state.budget)) return;
      if (held) return this.#hold(socket, state, held);
      attach(socket, { ...attachmentOf(socket), since: state.reader.since });
    }
  }

  /** Continues from this event when the socket has had time to subscribe. */
  #hold(socket: WebSocket, state: SocketState, { seq }: ProtocolEvent) {
    attach(socket, { ...attachmentOf(socket), since: seq - 1 });
    state.reader = null;
    setTimeout(() => this.wake(), state.settlesAt - Date.now());
  }

  /** @returns `false` when the principal may no longer read the thread; the socket is closed */
  async #isAuthorized(socket: WebSocket, state: SocketState): Promise<boolean> {
    if (state.checkedAt + RECHECK_MS > Date.now()) return true;
    const { session } = attachmentOf(socket);
    const refused = await threadSession(session).mayRead();
    if (refused) refuse(socket, refused);
    // Filters apply from the moment the thread exists.
    else if (this.#thread.isThere()) state.checkedAt = Date.now();
    return refused === null;
  }

  #stateOf(socket: WebSocket): SocketState {
    const known = this.#states.get(socket);
    if (known) return known;
    const state = {
      queue: new SerialQueue(),
      isDue: false,
      reader: null,
      checkedAt: 0,
      settlesAt: 0,
      budget: new SendBudget(MAX_SOCKET_CHARACTERS),
    };
    this.#states.set(socket, state);
    return state;
  }

  #inTurn(socket: WebSocket, work: () => Promise<void>): Promise<void> {
    const done = this.#stateOf(socket).queue.run(work);
    return done.catch((error: unknown) => {
      if (socket.readyState !== WebSocket.OPEN) return;
      log.error("socket_failed", error);
      socket.close(1011, "Internal error");
    });
  }
}

/** Returns the events to send now, and the end of a run that is held until the socket has subscribed. */
function dueOf(events: ProtocolEvent[], { settlesAt }: SocketState) {
  return settlesAt > Date.now() ? upToEnd(events) : { due: events };
}

function commandOf(data: string | ArrayBuffer) {
  if (typeof data !== "string")
    return invalidArgument("A command must be a text message, not a binary one.");
  if (data.length <= MAX_COMMAND_CHARACTERS) return readCommand(data);
  return invalidArgument(`A command must have at most ${MAX_COMMAND_CHARACTERS} characters.`);
}
