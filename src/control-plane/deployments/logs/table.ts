import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Log lines of builds. Those of agents are in the `AgentLog` of their deployment. */
export const build_logs = sqliteTable(
  "build_logs",
  {
    id: integer().primaryKey({ autoIncrement: true }),
    workspace_id: text().notNull(),
    revision_id: text().notNull(),
    level: text().$type<"DEBUG" | "INFO" | "WARNING" | "ERROR">().notNull(),
    message: text().notNull(),
    timestamp: text().notNull(),
  },
  (table) => [index("build_logs_by_revision").on(table.revision_id, table.id)],
);

/** Size of each deployment's `AgentLog`, reported when it has changed by a megabyte. */
export const agent_logs = sqliteTable("agent_logs", {
  deployment_id: text().primaryKey(),
  bytes: integer().notNull(),
});
