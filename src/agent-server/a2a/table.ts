import { index, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Maps a task to its thread and run: later requests have only the task's id. */
export const a2a_tasks = sqliteTable(
  "a2a_tasks",
  {
    deployment_id: text().notNull(),
    task_id: text().notNull(),
    workspace_id: text().notNull(),
    thread_id: text().notNull(),
    /** The current run. The first run has the id of the task. Each further message to the task starts another run. */
    run_id: text().notNull(),
    /** The run before the current one. It is read when the current run was never created. */
    former_run_id: text(),
    created_at: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.deployment_id, table.task_id] }),
    index("a2a_tasks_by_creation").on(table.created_at),
  ],
);
