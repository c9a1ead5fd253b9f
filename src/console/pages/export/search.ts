import { choiceParam, type RawSearch, textParam } from "../../state/search.ts";

export const SQL_DIALECTS = ["duckdb", "athena"] as const;

export const TABLE_READERS = ["duckdb", "athena", "snowflake", "bigquery", "spark"] as const;

export type ExportSearch = {
  sql?: (typeof SQL_DIALECTS)[number] | undefined;
  reader?: (typeof TABLE_READERS)[number] | undefined;
  /** Key of the file whose rows are shown. */
  file?: string | undefined;
};

export function exportSearch(search: RawSearch): ExportSearch {
  return {
    sql: choiceParam(search, "sql", SQL_DIALECTS),
    reader: choiceParam(search, "reader", TABLE_READERS),
    file: textParam(search, "file"),
  };
}
