import type { EventFilter } from "../../events/filter.ts";
import type { Session } from "../../events/session.ts";
import type { ProtocolReaders } from "./readers.ts";

/** Events of the v2 protocol. A thread can be followed before it exists. */
export class EventMethods {
  readonly #protocol: ProtocolReaders;

  constructor(protocol: ProtocolReaders) {
    this.#protocol = protocol;
  }

  /** @returns `null` when the caller may not see the thread */
  async followEvents(
    filter: EventFilter,
    since: number,
    session: Session,
  ): Promise<ReadableStream | null> {
    return this.#protocol.stream(filter, since, session);
  }

  async readTree(run_id: string | null) {
    return this.#protocol.tree(run_id);
  }

  /** The filters of the call decide. */
  async isVisible(): Promise<boolean> {
    return true;
  }
}
