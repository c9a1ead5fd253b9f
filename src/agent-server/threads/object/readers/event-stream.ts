import { Heartbeat, SSE_HEARTBEAT } from "../../../../shared/http/sse.ts";
import { endsRun, type ProtocolEvent, toEventText } from "../../events/event.ts";
import { channelsOf, type EventFilter, isWanted } from "../../events/filter.ts";
import { RECHECK_MS, SETTLE_MS } from "../../events/limits.ts";
import type { SessionRefusal } from "../../events/session.ts";
import type { ThreadStore } from "../storage/store.ts";
import type { Followers } from "./followers.ts";
import { LogReader } from "./log-reader.ts";

type Options = {
  store: ThreadStore;
  followers: Followers;
  isOver: (run_id: string) => boolean;
  /** Whether callers can see the thread. */
  isVisible: () => boolean;
  /** The thread of the reader: the object may have another one after a temporary thread. */
  thread_id: string;
  filter: EventFilter;
  since: number;
  checkAccess: () => Promise<SessionRefusal | null>;
};

/**
 * Yields stored events of a thread, then new ones, until the thread is deleted, the run of a temporary one has ended or
 * access ends. The thread may be created after the stream; access is checked again then.
 */
export async function* eventStream(options: Options): AsyncGenerator<string, void> {
  const opened_at = Date.now();
  const { store, thread_id, followers, isVisible, checkAccess } = options;
  const isEarly = !isVisible();
  const heartbeat = new Heartbeat(SSE_HEARTBEAT);
  while (!isVisible()) {
    await followers.changeOfAny(heartbeat.remaining_ms);
    yield heartbeat.frame("");
  }
  if (isEarly && (!store.has(thread_id) || (await checkAccess()))) return;
  yield* framesOf(options, opened_at + SETTLE_MS);
}

async function* framesOf(options: Options, settled_at: number): AsyncGenerator<string, void> {
  const { store, thread_id, followers, isOver, isVisible, filter, since } = options;
  const reader = new LogReader(store, isOver, channelsOf([filter]), since);
  const isAuthorized = recheck(options.checkAccess);
  const heartbeat = new Heartbeat(SSE_HEARTBEAT);
  while (store.has(thread_id)) {
    const events = reader.next();
    if (events === null) {
      // The last events of a temporary thread are written with its end, which hides it.
      if (!isVisible() && reader.isBetweenRuns) return;
      await followers.changeOfAny(heartbeat.remaining_ms);
      yield heartbeat.frame("");
      continue;
    }
    // Events must be durable before a client receives them.
    await store.durable();
    if (!(await isAuthorized())) return;
    const wanted = events.filter((event) => isWanted(event, filter));
    yield* settledFrames(wanted, settled_at, heartbeat);
  }
}

/** Holds the end of a run back until the client has had time to open its other streams. */
async function* settledFrames(events: ProtocolEvent[], settled_at: number, heartbeat: Heartbeat) {
  const end = Date.now() < settled_at ? events.findIndex(endsRun) : -1;
  if (end >= 0) {
    yield heartbeat.frame(toFrames(events.slice(0, end)));
    await scheduler.wait(settled_at - Date.now());
  }
  yield heartbeat.frame(toFrames(events.slice(Math.max(end, 0))));
}

/** Repeats the check of access when it is `RECHECK_MS` old. Clients whose stream ends reconnect with a new request. */
function recheck(checkAccess: Options["checkAccess"]): () => Promise<boolean> {
  let checked_at = Date.now();
  return async () => {
    if (checked_at + RECHECK_MS > Date.now()) return true;
    checked_at = Date.now();
    return (await checkAccess()) === null;
  };
}

function toFrames(events: ProtocolEvent[]): string {
  const texts = events.map((event) => {
    return `event: ${event.method}\ndata: ${toEventText(event)}\nid: ${event.seq}\n\n`;
  });
  return texts.join("");
}
