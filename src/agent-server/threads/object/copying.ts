import {
  COPIED_TABLES,
  type CopiedPage,
  type CopiedTable,
  type CopyBounds,
  type CopyCursor,
  type CopyHead,
} from "./checkpoints/copy.ts";
import type { ThreadStore } from "./storage/store.ts";

/** The thread that is copied. */
export type HistorySource = {
  exportHead(): Promise<CopyHead | null>;
  exportPage(
    table: CopiedTable,
    after: CopyCursor | null,
    bounds: CopyBounds,
  ): Promise<CopiedPage | null>;
};

/** Fixes the end of the copy: rows that come later are left out. */
export function headOf(store: ThreadStore): CopyHead {
  const { thread } = store;
  const { metadata, config, status, interrupts } = thread.record();
  return {
    ...{ metadata, config, status, interrupts },
    isStopped: thread.isStopped,
    values: thread.valuesText(),
    revision: thread.header().revision,
    ttl: thread.ttl,
    bounds: store.copyBounds(),
  };
}

/**
 * Fills a new thread with the history of another. It is marked as ended until it is complete: no caller sees it,
 * and each page postpones its deletion by the alarm.
 * @returns `false` when the source does not exist
 */
export async function copyHistory(
  store: ThreadStore,
  source: HistorySource,
  own: Record<string, unknown>,
): Promise<boolean> {
  const head = await source.exportHead();
  if (!head) return false;
  for (const table of COPIED_TABLES) {
    let after: CopyCursor | null = null;
    do {
      const page: CopiedPage | null = await source.exportPage(table, after, head.bounds);
      if (!page) return false;
      store.transaction(() => {
        store.insertCopies(table, page.rows);
        store.thread.markEnded();
      });
      after = page.next;
    } while (after !== null);
  }
  const metadata = { ...head.metadata, ...own, thread_id: store.thread.id };
  store.transaction(() => store.thread.applyCopy({ ...head, metadata }));
  return true;
}
