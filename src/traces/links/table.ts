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

/** URLs that accept feedback with one key for one run, until they expire. */
export const feedback_tokens = sqliteTable(
  "feedback_tokens",
  {
    id: text().primaryKey(),
    token_hash: text().notNull(),
    workspace_id: text().notNull(),
    run_id: text().notNull(),
    key: text().notNull(),
    feedback_id: text().notNull(),
    expires_at: text().notNull(),
    created_at: text().notNull(),
  },
  (table) => [
    uniqueIndex("feedback_tokens_hash").on(table.token_hash),
    index("feedback_tokens_by_run").on(table.workspace_id, table.run_id),
    index("feedback_tokens_expired").on(table.expires_at),
  ],
);
