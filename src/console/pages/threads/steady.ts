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
 * Keeps rows in their places while they are read again, so that none moves from under a pointer. Those that no page of
 * this view has shown wait. `view` names what is listed: another one begins with its own rows.
 */
export function useSteady(read: ThreadItem[], view: string): Steady {
  const [places, setPlaces] = useState({ view, ids: idsOf(read) });
  const former = useRef(new Map<string, ThreadItem>());
  const now = new Map(read.map((row) => [idOf(row), row]));
  const isOther = places.view !== view || (places.ids.length === 0 && read.length > 0);
  const ids = isOther ? [...now.keys()] : places.ids;
  if (isOther) setPlaces({ view, ids });
  // A thread that a full page leaves out may be on the next one; one that another page leaves out has left the list.
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
