import type { Followers } from "../readers/followers.ts";
import { Heartbeat, SSE_HEARTBEAT } from "../readers/heartbeat.ts";
import type { ThreadStore } from "../storage/store.ts";
import { endsRun, type ProtocolEvent, toEventText } from "./event.ts";
import { channelsOf, type EventFilter, isWanted } from "./filter.ts";
import { RECHECK_MS, SETTLE_MS } from "./limits.ts";
import { LogReader } from "./log-reader.ts";
import type { Refused } from "./session.ts";

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
 * Server-sent events of a thread: those that are there, then what comes, for as long as the thread is and its
 * reader may read it. A reader may be there before its thread, and is asked again who it is when that comes.
 */
export async function* eventStream(options: Options): AsyncGenerator<string, void> {
  const opened_at = Date.now();
  const { followers, isThere, mayRead } = options;
  const isEarly = !isThere();
  const pulse = new Heartbeat(SSE_HEARTBEAT);
  while (!isThere()) {
    await followers.changeOfAny(pulse.remaining_ms);
    yield pulse.frame("");
  }
  if (isEarly && (await mayRead())) return;
  yield* framesOf(options, opened_at + SETTLE_MS);
}

async function* framesOf(options: Options, settled_at: number): AsyncGenerator<string, void> {
  const { store, followers, isOver, isThere, filter, since } = options;
  const reader = new LogReader(store, isOver, channelsOf([filter]), since);
  const isLetIn = recheck(options.mayRead);
  const pulse = new Heartbeat(SSE_HEARTBEAT);
  while (isThere()) {
    const events = reader.next();
    if (events === null) {
      await followers.changeOfAny(pulse.remaining_ms);
      yield pulse.frame("");
      continue;
    }
    // What is told must survive the next crash: write first.
    await store.durable();
    if (!(await isLetIn())) return;
    const wanted = events.filter((event) => isWanted(event, filter));
    const held = Date.now() < settled_at ? wanted.findIndex(endsRun) : -1;
    if (held >= 0) {
      yield pulse.frame(toFrames(wanted.splice(0, held)));
      await scheduler.wait(settled_at - Date.now());
    }
    yield pulse.frame(toFrames(wanted));
  }
}

/** Who opened the stream was asked then; clients whose stream ends come again, and are asked by their request. */
function recheck(mayRead: Options["mayRead"]): () => Promise<boolean> {
  let checked_at = Date.now();
  return async () => {
    if (checked_at + RECHECK_MS > Date.now()) return true;
    checked_at = Date.now();
    return (await mayRead()) === null;
  };
}

function toFrames(events: ProtocolEvent[]): string {
  const texts = events.map((event) => {
    return `event: ${event.method}\ndata: ${toEventText(event)}\nid: ${event.seq}\n\n`;
  });
  return texts.join("");
}
