import type { Followers } from "../followers.ts";
import type { ThreadStore } from "../storage/store.ts";
import { type ProtocolEvent, toEventText } from "./event.ts";
import { channelsOf, type EventFilter, isWanted } from "./filter.ts";
import { LogReader } from "./log-reader.ts";
import type { Refused } from "./session.ts";

// Proxies drop connections that are silent for long; clients count comments as signs of life.
const HEARTBEAT_MS = 5_000;
const HEARTBEAT = ": heartbeat\n\n";

type Options = {
  store: ThreadStore;
  followers: Followers;
  isOver: (run_id: string) => boolean;
  isThere: () => boolean;
  filter: EventFilter;
  since: number;
  mayRead: () => Promise<Refused | null>;
};

/**
 * Server-sent events of a thread: those that are there, then what comes, for as long as the thread is. A reader
 * may be there before its thread, and is asked again who it is when that comes.
 */
export async function* eventStream(options: Options): AsyncGenerator<string, void> {
  const { followers, isThere, mayRead } = options;
  const isEarly = !isThere();
  while (!isThere()) if (!(await followers.changeOfAny(HEARTBEAT_MS))) yield HEARTBEAT;
  if (isEarly && (await mayRead())) return;
  yield* framesOf(options);
}

async function* framesOf({ store, followers, isOver, isThere, filter, since }: Options) {
  const reader = new LogReader(store, isOver, channelsOf([filter]), since);
  while (isThere()) {
    const events = reader.next();
    if (events === null) {
      if (!(await followers.changeOfAny(HEARTBEAT_MS))) yield HEARTBEAT;
      continue;
    }
    // What is told must survive the next crash: write first.
    await store.durable();
    yield events.map((event) => (isWanted(event, filter) ? toFrame(event) : "")).join("");
  }
}

function toFrame(event: ProtocolEvent): string {
  return `event: ${event.method}\ndata: ${toEventText(event)}\nid: ${event.seq}\n\n`;
}
