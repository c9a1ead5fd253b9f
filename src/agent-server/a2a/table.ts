import { index, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** The thread of a task: clients come back with its id alone. */
export const a2a_tasks = sqliteTable(
  "a2a_tasks",
  {
    deployment_id: text().notNull(),
    task_id: text().notNull(),
    workspace_id: text().notNull(),
    thread_id: text().notNull(),
    /** The run that works on it now: the first one has the task's own id, an answer to its question is another. */
    run_id: text().notNull(),
    created_at: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.deployment_id, table.task_id] }),
    index("a2a_tasks_by_creation").on(table.created_at),
  ],
);
