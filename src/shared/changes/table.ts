import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * The newest change of each deployment and organization, which isolates poll for their caches. Triggers write the rows.
 * A row is never deleted: its version would be used again.
 */
export const changes = sqliteTable("changes", {
  /** Id of a deployment or of an organization. */
  scope: text().primaryKey(),
  /** Greater than those of all earlier changes of the region. */
  version: integer().notNull().unique(),
});
