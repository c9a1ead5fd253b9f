import { sql } from "drizzle-orm";
import { index, integer, real, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Alert } from "./alert-schema.ts";

/** Condition of the index and of its query. Excludes disabled alerts, unless they fire or have a webhook to send. */
export const MAY_BE_DUE = "enabled = 1 OR status = 'firing' OR outbox_id IS NOT NULL";

/** Alerts with their state. The outbox has the webhook of the last change of status until it is enqueued. */
export const alerts = sqliteTable(
  "alerts",
  {
    id: text().primaryKey(),
    workspace_id: text().notNull(),
    name: text().notNull(),
    metric: text().$type<Alert["metric"]>().notNull(),
    session_id: text(),
    filter: text(),
    is_root: integer({ mode: "boolean" }).notNull(),
    feedback_key: text(),
    window_minutes: integer().notNull(),
    operator: text().$type<Alert["operator"]>().notNull(),
    threshold: real().notNull(),
    webhook: text().notNull(),
    enabled: integer({ mode: "boolean" }).notNull(),
    status: text().$type<Alert["status"]>().notNull(),
    value: real(),
    episode: integer().notNull(),
    started_at: text(),
    evaluated_at: text(),
    problem: text(),
    /** Earliest time of the next evaluation. A tick that claims the alert moves it, so that no other tick claims it. */
    due_at: text().notNull(),
    outbox_id: text(),
    outbox_payload: text(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [
    index("alerts_by_workspace").on(table.workspace_id, table.id),
    index("alerts_by_due").on(table.due_at).where(sql.raw(MAY_BE_DUE)),
  ],
);
