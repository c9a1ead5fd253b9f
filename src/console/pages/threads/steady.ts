import { useRef, useState } from "react";
import type { ThreadItem } from "../../runs/stream/agent.ts";
import { PAGE_SIZE } from "./pages.tsx";

export type Steady = {
  rows: ThreadItem[];
  /** Number of threads that are read but not shown. */
  fresh: number;
  showFresh: () => void;
};

/**
 * Keeps rows in their places while they are read again, so that a row does not move under the pointer. New rows are
 * counted, and shown when `showFresh` is called.
 * @param view identifies the list: another view begins with the rows as they were read
 */
export function useSteady(read: ThreadItem[], view: string): Steady {
  const [places, setPlaces] = useState({ view, ids: idsOf(read) });
  const former = useRef(new Map<string, ThreadItem>());
  const now = new Map(read.map((row) => [idOf(row), row]));
  const isOther = places.view !== view || (places.ids.length === 0 && read.length > 0);
  const ids = isOther ? [...now.keys()] : places.ids;
  if (isOther) setPlaces({ view, ids });
  // A thread that a full page lacks may be on the next page. One that a partial page lacks is not in the list any more.
  const kept = read.length < PAGE_SIZE ? ids.filter((id) => now.has(id)) : ids;
  const rows = kept.flatMap((id) => now.get(id) ?? former.current.get(id) ?? []);
  former.current = new Map(rows.map((row) => [idOf(row), row]));
  return {
    rows,
    fresh: read.filter((row) => !ids.includes(idOf(row))).length,
    showFresh: () => setPlaces({ view, ids: [...now.keys()] }),
  };
}

function idsOf(rows: ThreadItem[]): string[] {
  return rows.map(idOf);
}

function idOf({ thread_id = "" }: ThreadItem): string {
  return thread_id;
}
