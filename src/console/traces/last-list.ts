import type { TracesSearch } from "./search.ts";

const KEY = "heddle-traces";

/** Keeps the address of the list of traces in this tab, for the way back from a trace. */
export function keepList(search: TracesSearch & { project: string }): void {
  sessionStorage.setItem(KEY, JSON.stringify(search));
}

/**
 * Returns the kept address when it is of the project, and else the project alone.
 * @param project `undefined` for the kept address of any project
 */
export function lastListOf(project: string | undefined): TracesSearch {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as TracesSearch;
  return project === undefined || kept.project === project ? kept : { project };
}

const ORDER_KEY = "heddle-trace-order";
const MAX_KEPT = 1000;

/** Keeps the order of the listed traces in this tab, for the way from one to the next. */
export function keepOrder(ids: string[]): void {
  sessionStorage.setItem(ORDER_KEY, JSON.stringify([...new Set(ids)].slice(0, MAX_KEPT)));
}

/** Returns the traces before and after one in the list as it was left. */
export function neighboursOf(id: string): {
  before?: string | undefined;
  after?: string | undefined;
} {
  const ids = JSON.parse(sessionStorage.getItem(ORDER_KEY) ?? "[]") as string[];
  const at = ids.indexOf(id);
  return at === -1 ? {} : { before: ids[at - 1], after: ids[at + 1] };
}
