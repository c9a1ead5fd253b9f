import type { TracesSearch } from "./search.ts";

const KEY = "heddle-traces";

/** Keeps the address of the list of traces in this tab, for the way back from a trace. */
export function keepList(search: TracesSearch & { project: string }): void {
  sessionStorage.setItem(KEY, JSON.stringify(search));
}

/** Returns the kept address when it is of the project, and else the project alone. */
export function lastListOf(project: string | undefined): TracesSearch {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as TracesSearch;
  return project === undefined || kept.project === project ? kept : { project };
}
