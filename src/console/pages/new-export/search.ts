import { type RawSearch, textParam } from "../../state/search.ts";

/** The fields that a link fills in; the rest of a form is not part of the address. */
export type NewExportSearch = { project?: string | undefined; filter?: string | undefined };

export function newExportSearch(search: RawSearch): NewExportSearch {
  return { project: textParam(search, "project"), filter: textParam(search, "filter") };
}
