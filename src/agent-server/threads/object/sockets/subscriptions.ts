import { commandFailure, invalidArgument, parseParams } from "../../events/command.ts";
import { channelsOf, type EventFilter } from "../../events/filter.ts";
import { MAX_SUBSCRIPTIONS, SETTLE_MS } from "../../events/limits.ts";
import { type Command, Subscribe, Unsubscribe } from "../../events/schema.ts";
import type { Subscription } from "../../events/session.ts";
import { LogReader } from "../readers/log-reader.ts";
import { joined, pageOf } from "../readers/replay.ts";
import { attach, attachmentOf, send, sendWithin } from "./socket-io.ts";
import type { SocketState, WatchedThread } from "./socket-state.ts";

type SocketLoop = {
  isAuthorized: (socket: WebSocket, state: SocketState) => Promise<boolean>;
  /** Delivers new events to all sockets. */
  wake: () => void;
};

/** Carries out the commands that add and remove subscriptions of a socket. */
export class Subscriptions {
  readonly #thread: WatchedThread;
  readonly #isAuthorized: SocketLoop["isAuthorized"];
  readonly #wake: SocketLoop["wake"];

  constructor(thread: WatchedThread, { isAuthorized, wake }: SocketLoop) {
    this.#thread = thread;
    this.#isAuthorized = isAuthorized;
    this.#wake = wake;
  }

  async subscribe(socket: WebSocket, state: SocketState, command: Command): Promise<void> {
    const { id } = command;
    const params = parseParams(Subscribe, command);
    if (params.type === "error") return send(socket, { ...params, id });
    if (!(await this.#isAuthorized(socket, state))) return;
    const { channels, namespaces = null, depth = null, since } = params.value;
    const subscription = this.#add(socket, { channels, namespaces, depth });
    if (!subscription) {
      const text = `The limit of ${MAX_SUBSCRIPTIONS} subscriptions of a socket, or of their size, is reached: unsubscribe from one.`;
      return send(socket, { ...invalidArgument(text), id });
    }
    state.settlesAt = Date.now() + SETTLE_MS;
    await this.#replay(socket, state, { own: subscription, since: since ?? 0, id });
  }

  /** @returns `null` when the socket has no room for another subscription */
  #add(socket: WebSocket, filter: EventFilter): Subscription | null {
    const attachment = attachmentOf(socket);
    if (attachment.subscriptions.length >= MAX_SUBSCRIPTIONS) return null;
    const own = {
      ...filter,
      id: `subscription-${attachment.next}`,
      // Receives no new events until the log is replayed, even after a restart in between.
      since: Number.MAX_SAFE_INTEGER,
    };
    const subscriptions = [...attachment.subscriptions, own];
    const isKept = attach(socket, { ...attachment, subscriptions, next: attachment.next + 1 });
    return isKept ? own : null;
  }

  /** Replies, then replays the log after `since`. Later events come with those of the other subscriptions. */
  async #replay(
    socket: WebSocket,
    state: SocketState,
    { own, since, id }: { own: Subscription; since: number; id: number },
  ) {
    const { store, isOver, isVisible } = this.#thread;
    const isOwn = isVisible() && store.has(attachmentOf(socket).session.thread_id);
    const reader = isOwn ? new LogReader(store, isOver, channelsOf([own]), since) : null;
    const first = pageOf(reader, own);
    const replayed = first.isWhole ? { replayed_events: first.texts.length } : {};
    const result = { subscription_id: own.id, ...replayed };
    await store.durable();
    send(socket, { type: "success", id, result, meta: metaOf(socket) });
    let page = first;
    for (; ; page = pageOf(reader, own)) {
      if (!sendWithin(socket, page.texts, state.budget)) return;
      if (page.isWhole) break;
      await store.durable();
      if (!store.has(attachmentOf(socket).session.thread_id)) return;
    }
    attach(socket, joined(attachmentOf(socket), own.id, page.since));
    state.reader = null;
    this.#wake();
  }

  unsubscribe(socket: WebSocket, state: SocketState, command: Command) {
    const { id } = command;
    const params = parseParams(Unsubscribe, command);
    if (params.type === "error") return send(socket, { ...params, id });
    const { subscriptions, ...attachment } = attachmentOf(socket);
    const { subscription_id } = params.value;
    const others = subscriptions.filter((known) => known.id !== subscription_id);
    if (others.length === subscriptions.length) {
      const message = `The socket has no subscription ${subscription_id}.`;
      return send(socket, { ...commandFailure("no_such_subscription", message), id });
    }
    attach(socket, { ...attachment, subscriptions: others });
    state.reader = null;
    send(socket, { type: "success", id, result: {}, meta: metaOf(socket) });
  }
}

function metaOf(socket: WebSocket) {
  const { session, since } = attachmentOf(socket);
  return { thread_id: session.thread_id, applied_through_seq: since };
}
