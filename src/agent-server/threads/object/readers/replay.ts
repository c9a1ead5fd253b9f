import { endsRun, type ProtocolEvent, toEventText } from "../../events/event.ts";
import { type EventFilter, isWanted } from "../../events/filter.ts";
import { COUNTED_CHARACTERS } from "../../events/limits.ts";
import type { Attachment, Subscription } from "../../events/session.ts";
import type { LogReader } from "./log-reader.ts";

/**
 * Returns the events before the first one that ends a run, and that one. Later events are left out: readers read them
 * again.
 */
export function upToEnd(events: ProtocolEvent[]): { due: ProtocolEvent[]; held?: ProtocolEvent } {
  const at = events.findIndex(endsRun);
  const held = events[at];
  return held ? { due: events.slice(0, at), held } : { due: events };
}

/** Returns the events that a subscription wants and has not received yet. */
export function textsOf(events: ProtocolEvent[], subscriptions: Subscription[]): string[] {
  const isNew = (event: ProtocolEvent) =>
    subscriptions.some((own) => event.seq > own.since && isWanted(event, own));
  return events.filter(isNew).map(toEventText);
}

/**
 * Returns the next events of a subscription. `isWhole`: no more are stored, or the rest waits behind the end of a run.
 * `since`: sequence number from which the subscription continues, 0 before the last page.
 */
export function pageOf(reader: LogReader | null, filter: EventFilter) {
  const texts: string[] = [];
  let characters = 0;
  while (characters < COUNTED_CHARACTERS) {
    const events = reader?.next() ?? null;
    if (events === null) return { texts, isWhole: true, since: reader?.since ?? 0 };
    const { due, held } = upToEnd(events);
    for (const text of due.filter((event) => isWanted(event, filter)).map(toEventText)) {
      texts.push(text);
      characters += text.length;
    }
    if (held) return { texts, isWhole: true, since: held.seq - 1 };
  }
  return { texts, isWhole: false, since: 0 };
}

/** Lets all subscriptions continue from the least of their positions; each keeps its own. */
export function joined(
  { subscriptions, ...attachment }: Attachment,
  id: string,
  since: number,
): Attachment {
  const [only] = subscriptions;
  if (subscriptions.length === 1 && only) {
    return { ...attachment, subscriptions: [{ ...only, since }], since };
  }
  const all = subscriptions.map((each) => ({
    ...each,
    since: each.id === id ? since : Math.max(each.since, attachment.since),
  }));
  return { ...attachment, subscriptions: all, since: Math.min(attachment.since, since) };
}
