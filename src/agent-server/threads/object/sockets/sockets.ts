import { isSendable } from "../../../../shared/http/sockets.ts";
import { log } from "../../../../shared/log.ts";
import { threadSession } from "../../callbacks.ts";
import { invalidArgument, parseCommand } from "../../events/command.ts";
import type { ProtocolEvent } from "../../events/event.ts";
import { channelsOf } from "../../events/filter.ts";
import { MAX_COMMAND_CHARACTERS, MAX_SOCKETS, RECHECK_MS } from "../../events/limits.ts";
import type { EventSession, SessionRefusal } from "../../events/session.ts";
import { LogReader } from "../readers/log-reader.ts";
import { textsOf, upToEnd } from "../readers/replay.ts";
import {
  attach,
  attachmentOf,
  isOfThread,
  refuse,
  send,
  sendWithin,
  tooLargeText,
} from "./socket-io.ts";
import { newSocketState, type SocketState, type WatchedThread } from "./socket-state.ts";
import { Subscriptions } from "./subscriptions.ts";

/** Commands whose reply is sent before the events of the run that they begin: clients match interrupts by order. */
const BEGINS_A_RUN = new Set(["run.start", "input.respond"]);

/**
 * The sockets that watch a thread. What they subscribe to is attached to them and outlives the object's memory:
 * an object may sleep between two events of its thread.
 */
export class Sockets {
  readonly #thread: WatchedThread;
  readonly #states = new WeakMap<WebSocket, SocketState>();
  readonly #subscriptions: Subscriptions;

  constructor(thread: WatchedThread) {
    this.#thread = thread;
    this.#subscriptions = new Subscriptions(thread, {
      isAuthorized: (socket, state) => this.#isAuthorized(socket, state),
      wake: () => this.wake(),
    });
  }

  get hasAny(): boolean {
    return this.#thread.ctx.getWebSockets().length > 0;
  }

  accept(session: EventSession): Response {
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
      refuse(server, { status: 413, message: tooLargeText(session) });
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

  /** Closes the sockets of a thread that is gone. The object may have another one, whose sockets stay open. */
  closeAll(thread_id: string, refused: SessionRefusal) {
    for (const socket of this.#thread.ctx.getWebSockets())
      if (isOfThread(socket, thread_id)) refuse(socket, refused);
  }

  /** Closes in return, as the client waits for it. Echoes the code, or 1000 for one that cannot be sent. */
  closed(socket: WebSocket, code: number, reason: string) {
    socket.close(isSendable(code) ? code : 1000, reason);
  }

  async message(socket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    const read = commandOf(data);
    if (read.type === "error") return send(socket, { ...read, id: null });
    const command = read.value;
    const state = this.#stateOf(socket);
    if (command.method === "subscription.subscribe") {
      return this.#inTurn(socket, () => this.#subscriptions.subscribe(socket, state, command));
    }
    if (command.method === "subscription.unsubscribe") {
      return this.#inTurn(socket, async () =>
        this.#subscriptions.unsubscribe(socket, state, command),
      );
    }
    const { session } = attachmentOf(socket);
    const carryOut = async () => {
      if (session.expires_at !== null && !(await this.#isAuthorized(socket, state))) return;
      socket.send(await threadSession(session).executeCommand(String(data)));
    };
    return BEGINS_A_RUN.has(command.method) ? this.#inTurn(socket, carryOut) : carryOut();
  }

  async #deliver(socket: WebSocket, state: SocketState): Promise<void> {
    const { store, isOver } = this.#thread;
    const { session, subscriptions, since } = attachmentOf(socket);
    const { thread_id } = session;
    if (subscriptions.length === 0 || !this.#isReadable(thread_id, state)) return;
    if (!(await this.#isAuthorized(socket, state))) return;
    state.reader ??= new LogReader(store, isOver, channelsOf(subscriptions), since);
    while (store.has(thread_id)) {
      const events = state.reader.next();
      if (events === null) break;
      await store.durable();
      const { due, held } = dueOf(events, state);
      if (!sendWithin(socket, textsOf(due, subscriptions), state.budget)) return;
      if (held) return this.#hold(socket, state, held);
      attach(socket, { ...attachmentOf(socket), since: state.reader.since });
    }
  }

  /** A temporary thread is hidden once its run has ended. Sockets that watched the run receive the last events. */
  #isReadable(thread_id: string, { checkedAt }: SocketState): boolean {
    const { store, isVisible } = this.#thread;
    return store.has(thread_id) && (isVisible() || checkedAt > 0);
  }

  /** Holds back this event and the later ones until the socket has had time to subscribe. */
  #hold(socket: WebSocket, state: SocketState, { seq }: ProtocolEvent) {
    attach(socket, { ...attachmentOf(socket), since: seq - 1 });
    state.reader = null;
    setTimeout(() => this.wake(), state.settlesAt - Date.now());
  }

  /** @returns `false` when the principal may no longer read the thread; the socket is closed */
  async #isAuthorized(socket: WebSocket, state: SocketState): Promise<boolean> {
    if (state.checkedAt + RECHECK_MS > Date.now()) return true;
    const { session } = attachmentOf(socket);
    const refused = await threadSession(session).checkAccess();
    if (refused) refuse(socket, refused);
    // Filters apply from the moment the thread exists.
    else if (this.#thread.isVisible()) state.checkedAt = Date.now();
    return refused === null;
  }

  #stateOf(socket: WebSocket): SocketState {
    const state = this.#states.get(socket) ?? newSocketState();
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

/** Returns the events to send now, and the end of a run that is held until the socket has had time to subscribe. */
function dueOf(events: ProtocolEvent[], { settlesAt }: SocketState) {
  return settlesAt > Date.now() ? upToEnd(events) : { due: events };
}

function commandOf(data: string | ArrayBuffer) {
  if (typeof data !== "string")
    return invalidArgument("A command must be a text message, not a binary one.");
  if (data.length <= MAX_COMMAND_CHARACTERS) return parseCommand(data);
  return invalidArgument(`A command must have at most ${MAX_COMMAND_CHARACTERS} characters.`);
}
