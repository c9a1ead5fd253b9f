import type { EventFilter } from "../../events/filter.ts";
import type { EventSession } from "../../events/session.ts";
import type { ProtocolReaders } from "./readers.ts";

/** RPC methods of a thread for the v2 protocol of events. A thread can be followed before it exists. */
export class EventMethods {
  readonly #protocol: ProtocolReaders;

  constructor(protocol: ProtocolReaders) {
    this.#protocol = protocol;
  }

  /**
   * @param since sequence number of the last event that the reader has
   * @returns a stream. A call returns `null` in its place when the filters hide the thread
   */
  async followEvents(
    filter: EventFilter,
    since: number,
    session: EventSession,
  ): Promise<ReadableStream | null> {
    return this.#protocol.stream(filter, since, session);
  }

  /** Returns the graphs and nodes of a run (of the newest for `null`), and the id of the thread's last event. */
  async readTree(run_id: string | null) {
    return this.#protocol.tree(run_id);
  }

  async readLastEvent(): Promise<number> {
    return this.#protocol.lastEvent();
  }

  /** A call tests the filters first, and returns `false` in place of this for a hidden thread. */
  async isVisible(): Promise<boolean> {
    return true;
  }
}
