import { LAZY_TABLES } from "../../src/agent-server/threads/object/log/lazy-tables.ts";

/** Creates the tables that a thread has not used yet, for statements of tests. */
export function createLazyTables(sql: SqlStorage) {
  for (const statements of Object.values(LAZY_TABLES)) sql.exec(statements);
}
