import type { CopyHead } from "../storage/copy.ts";
import { COPIED_TABLES } from "../storage/copy.ts";
import type { ThreadStore } from "../storage/store.ts";
import type { ThreadCalls } from "./thread-calls.ts";

/** What a copy of the thread begins with; what comes later is not of it. */
export function headOf(store: ThreadStore): CopyHead {
  const { thread } = store;
  const { metadata, config, status, interrupts } = thread.record();
  return {
    ...{ metadata, config, status, interrupts },
    values: thread.valuesText(),
    revision: thread.header().revision,
    ttl: thread.ttl,
    bounds: store.copyBounds(),
  };
}

/**
 * Fills a new thread with the history of another. Until it is whole it is marked as one whose end has come:
 * nobody sees it, and what a crash leaves of it goes by itself. False: the source is gone.
 */
export async function copyHistory(
  store: ThreadStore,
  source: ThreadCalls,
  own: Record<string, unknown>,
): Promise<boolean> {
  const head = await source.exportHead();
  if (!head) return false;
  for (const table of COPIED_TABLES) {
    let after: number | null = 0;
    while (after !== null) {
      const page = await source.exportPage(table, after, head.bounds[table]);
      if (!page) return false;
      store.transaction(() => {
        store.insertCopies(table, page.rows);
        store.thread.markEnded();
      });
      after = page.next;
    }
  }
  const metadata = { ...head.metadata, ...own, thread_id: store.thread.id };
  store.transaction(() => store.thread.adopt({ ...head, metadata }));
  return true;
}
