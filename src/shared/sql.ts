import { type Column, type SQL, sql } from "drizzle-orm";

/** One parameter however many values: D1 binds at most 100. */
export function among(column: Column, values: readonly string[]): SQL {
  return sql`${column} in (select value from json_each(${JSON.stringify(values)}))`;
}
