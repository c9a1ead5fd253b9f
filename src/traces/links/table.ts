import { index, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/** Public links of traces, at most one for each trace. */
export const trace_shares = sqliteTable(
  "trace_shares",
  {
    id: text().primaryKey(),
    token_hash: text().notNull(),
    workspace_id: text().notNull(),
    project_id: text().notNull(),
    trace_id: text().notNull(),
    created_at: text().notNull(),
  },
  (table) => [
    uniqueIndex("trace_shares_token").on(table.token_hash),
    uniqueIndex("trace_shares_trace").on(table.workspace_id, table.trace_id),
    index("trace_shares_project").on(table.project_id),
  ],
);
