import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { ThreadStatus } from "./runs.ts";

/** The directory of threads: which there are and how they stand. What is in one, its object knows. */
export const threads = sqliteTable(
  "threads",
  {
    deployment_id: text().notNull(),
    thread_id: text().notNull(),
    workspace_id: text().notNull(),
    status: text().$type<ThreadStatus>().notNull(),
    metadata: text({ mode: "json" }).$type<Record<string, unknown>>().notNull(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
    /** Sequence of the object's outbox: an older entry never replaces a newer one. */
    seq: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.deployment_id, table.thread_id] }),
    index("threads_by_creation").on(table.deployment_id, table.created_at),
  ],
);
