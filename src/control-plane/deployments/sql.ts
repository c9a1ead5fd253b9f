import { type Column, type SQL, sql } from "drizzle-orm";
import { among } from "../../shared/storage/sql.ts";
import type { RevisionStatus } from "./schema.ts";

export function inStatus(column: Column | SQL, statuses: readonly RevisionStatus[]): SQL {
  return among(column, statuses);
}

/**
 * Merges `change` into the stored object by field, so that concurrent patches are both kept. `null` removes a field.
 */
export function merged(column: Column, change: object): SQL {
  return Object.entries(change).reduce<SQL>(
    (object, [field, value]) =>
      value === null
        ? sql`json_remove(${object}, ${`$.${field}`})`
        : sql`json_set(${object}, ${`$.${field}`}, json(${JSON.stringify(value)}))`,
    sql`${column}`,
  );
}
