import { threadSession } from "../../callbacks.ts";
import { threadNotFound } from "../../contract/state-answers.ts";
import type { EventFilter } from "../../events/filter.ts";
import { type AgentTree, agentStatusOf } from "../../events/namespaces.ts";
import { RunEvents } from "../../events/run-events.ts";
import type { EventSession } from "../../events/session.ts";
import { eventStream } from "../readers/event-stream.ts";
import type { Followers } from "../readers/followers.ts";
import type { OpenStreams } from "../readers/open-streams.ts";
import type { ThreadStore } from "../storage/store.ts";
import { Sockets } from "./sockets.ts";

type Thread = {
  ctx: DurableObjectState;
  store: ThreadStore;
  followers: Followers;
  streams: OpenStreams;
  isOver: (run_id: string) => boolean;
  /** Whether callers can see the thread. */
  isVisible: () => boolean;
};

/** Readers of a thread: streams, which end when the object leaves the memory, and sockets, which stay open then. */
export class ProtocolReaders {
  readonly sockets: Sockets;
  readonly #thread: Thread;

  constructor(thread: Thread) {
    this.#thread = thread;
    this.sockets = new Sockets(thread);
  }

  /**
   * Wakes the sockets, the streams of the whole thread, and the streams of these runs; without a list, those of every
   * run.
   */
  wake(run_ids?: string[]) {
    this.#thread.followers.wake(run_ids);
    this.sockets.wake();
  }

  /** Ends the streams and closes the sockets of a thread that is gone. */
  closeThread(thread_id: string) {
    this.#thread.followers.wake();
    this.sockets.closeAll(thread_id, threadNotFound(thread_id));
  }

  stream(filter: EventFilter, since: number, session: EventSession): ReadableStream {
    const checkAccess = () => threadSession(session).checkAccess();
    const { thread_id } = session;
    const options = { ...this.#thread, thread_id, filter, since, checkAccess };
    return this.#thread.streams.open(eventStream(options));
  }

  /** @returns `tree`: `null` when the run does not exist; `last_event`: the id of the thread's last event */
  tree(run_id: string | null): { tree: AgentTree | null; last_event: number } {
    const { store, isVisible } = this.#thread;
    return { tree: isVisible() ? treeOf(store, run_id) : null, last_event: this.lastEvent() };
  }

  /** @returns the id of the thread's last event, 0 when the thread does not exist */
  lastEvent(): number {
    return this.#thread.isVisible() ? this.#thread.store.events.lastId() : 0;
  }
}

/** @returns the graphs and nodes of a run or of the newest run, `null` when the run does not exist */
function treeOf({ runs, events }: ThreadStore, run_id: string | null): AgentTree | null {
  const run = run_id === null ? runs.newest() : runs.get(run_id);
  if (!run) return null;
  const log = new RunEvents(run, new Set(["lifecycle"]));
  let after = 0;
  for (;;) {
    const page = events.page(run.run_id, after);
    if (page.length === 0) break;
    for (const row of page) log.toProtocolEvents(row, 0);
    after = page.at(-1)?.id ?? after;
  }
  return log.tree(agentStatusOf(run));
}
