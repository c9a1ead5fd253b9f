import { AppError } from "../../../shared/errors.ts";
import {
  COPIED_TABLES,
  type CopiedPage,
  type CopiedTable,
  type CopyBounds,
  type CopyCursor,
  type CopyHead,
} from "./checkpoints/copy.ts";
import type { ThreadStore } from "./storage/store.ts";

/** Maximum attempts of a copy. A deletion in the source makes an attempt useless. */
const MAX_ATTEMPTS = 5;

/** The thread that is copied. */
export type HistorySource = {
  exportHead(): Promise<CopyHead | null>;
  exportPage(
    table: CopiedTable,
    after: CopyCursor | null,
    bounds: CopyBounds,
  ): Promise<CopiedPage | "outdated" | null>;
};

/** Returns the fields of the thread and the end of its history. A copy leaves out the rows that come later. */
export function headOf(store: ThreadStore): CopyHead {
  const { thread } = store;
  const { metadata, config, status, interrupts } = thread.record();
  return {
    ...{ metadata, config, status, interrupts },
    isStopped: thread.isStopped,
    values: thread.valuesText(),
    revision: thread.header().revision,
    ttl: thread.ttl,
    bounds: store.copies.bounds(),
  };
}

/**
 * Fills a new thread with the history of another. The new thread is marked as ended until it is complete: no caller
 * sees it, and each page postpones its deletion by the alarm. `own`: metadata of the new thread, which overrides that
 * of the source.
 * @returns `false` when the source does not exist
 * @throws AppError 409 when deletions in the source made each attempt useless
 */
export async function copyHistory(
  store: ThreadStore,
  source: HistorySource,
  own: Record<string, unknown>,
): Promise<boolean> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const head = await source.exportHead();
    const result = head ? await copyTables(store, source, head.bounds) : "missing";
    if (head === null || result === "missing") return false;
    if (result === "outdated") continue;
    const metadata = { ...head.metadata, ...own, thread_id: store.thread.id };
    store.transaction(() => store.thread.applyCopy({ ...head, metadata }));
    return true;
  }
  throw new AppError("conflict", "Thread changes while it is copied: try again later");
}

async function copyTables(
  store: ThreadStore,
  source: HistorySource,
  bounds: CopyBounds,
): Promise<"copied" | "missing" | "outdated"> {
  store.transaction(() => store.copies.clear());
  for (const table of COPIED_TABLES) {
    let after: CopyCursor | null = null;
    do {
      const page: CopiedPage | "outdated" | null = await source.exportPage(table, after, bounds);
      if (page === null) return "missing";
      if (page === "outdated") return page;
      store.transaction(() => {
        store.copies.insert(table, page.rows, store.thread.id);
        store.thread.markEnded();
      });
      after = page.next;
    } while (after !== null);
  }
  return "copied";
}
