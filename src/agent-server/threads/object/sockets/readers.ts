import { threadSession } from "../../callbacks.ts";
import type { EventFilter } from "../../events/filter.ts";
import type { AgentTree } from "../../events/namespaces.ts";
import type { EventSession, SessionRefusal } from "../../events/session.ts";
import { eventStream } from "../readers/event-stream.ts";
import type { Followers } from "../readers/followers.ts";
import { treeOf } from "../readers/log-reader.ts";
import type { OpenStreams } from "../readers/open-streams.ts";
import type { ThreadStore } from "../storage/store.ts";
import { Sockets } from "./sockets.ts";

type Thread = {
  ctx: DurableObjectState;
  store: ThreadStore;
  followers: Followers;
  streams: OpenStreams;
  isOver: (run_id: string) => boolean;
  isThere: () => boolean;
};

/** Readers of a thread: streams, which end with their object, and sockets, which do not. */
export class ProtocolReaders {
  readonly sockets: Sockets;
  readonly #thread: Thread;

  constructor(thread: Thread) {
    this.#thread = thread;
    this.sockets = new Sockets(thread);
  }

  /** There is something new of these runs; without a list, of any. */
  wake(run_ids?: string[]) {
    this.#thread.followers.wake(run_ids);
    this.sockets.wake();
  }

  /** The thread is gone. */
  leave(refused: SessionRefusal) {
    this.#thread.followers.wake();
    this.sockets.closeAll(refused);
  }

  stream(filter: EventFilter, since: number, session: EventSession): ReadableStream {
    const checkAccess = () => threadSession(session).checkAccess();
    return this.#thread.streams.open(eventStream({ ...this.#thread, filter, since, checkAccess }));
  }

  /** @returns `tree`: `null` when the run does not exist; `last_event`: the id of the thread's last event */
  tree(run_id: string | null): { tree: AgentTree | null; last_event: number } {
    const { store, isThere } = this.#thread;
    return { tree: isThere() ? treeOf(store, run_id) : null, last_event: this.lastEvent() };
  }

  /** @returns the id of the thread's last event, 0 when the thread does not exist */
  lastEvent(): number {
    return this.#thread.isThere() ? this.#thread.store.events.lastId() : 0;
  }
}
