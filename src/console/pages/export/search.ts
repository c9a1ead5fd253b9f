import { choiceParam, type RawSearch, textParam } from "../../state/search.ts";

export const SQL_DIALECTS = ["duckdb", "athena"] as const;

export type ExportSearch = {
  sql?: (typeof SQL_DIALECTS)[number] | undefined;
  /** Key of the file whose rows are shown. */
  file?: string | undefined;
};

export function exportSearch(search: RawSearch): ExportSearch {
  return { sql: choiceParam(search, "sql", SQL_DIALECTS), file: textParam(search, "file") };
}
