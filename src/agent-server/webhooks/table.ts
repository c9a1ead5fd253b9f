import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { AgentUser } from "../../shared/context.ts";
import type { Attempt, DeliveryStatus } from "./schema.ts";

/** Deliveries of webhooks and exported traces, and their attempts. R2 stores the payloads of webhooks: see `payloadKey`. */
export const run_webhooks = sqliteTable(
  "run_webhooks",
  {
    /** Id of the run or the alert's webhook, or `exportId` of a trace. */
    run_id: text().primaryKey(),
    workspace_id: text().notNull(),
    deployment_id: text().notNull(),
    thread_id: text().notNull(),
    /** Set for webhooks of alerts, whose deployment and thread are the alert's id. */
    alert_id: text(),
    /** Set for traces that are sent to an OTLP endpoint. They have no payload in R2. */
    trace_id: text(),
    url: text().notNull(),
    /** User that a call to the agent's own app acts as. */
    user: text({ mode: "json" }).$type<AgentUser>(),
    status: text().$type<DeliveryStatus>().notNull(),
    /** Fencing token: only the newest attempt may write its result. */
    attempt: integer().notNull(),
    /** Attempts before the last redelivery, which do not count for pauses. */
    attempts_before: integer().notNull().default(0),
    attempts: text({ mode: "json" }).$type<Attempt[]>().notNull(),
    /** Next attempt of a pending delivery, expiry of an ended one. */
    due_at: text().notNull(),
    lease_expires_at: text(),
    /**
     * Time of the last queue message or the end of the last attempt. A later sweep sends a message for a due delivery.
     */
    sent_at: text().notNull(),
    created_at: text().notNull(),
    finished_at: text(),
  },
  (table) => [
    index("run_webhooks_by_due").on(table.status, table.due_at),
    index("run_webhooks_by_deployment").on(table.deployment_id),
    index("run_webhooks_by_workspace").on(table.workspace_id, table.status, table.run_id),
    index("run_webhooks_pending")
      .on(table.workspace_id, table.lease_expires_at, table.due_at)
      .where(sql`status = 'pending'`),
  ],
);

/** Returns the key of the row that sends a trace. Differs from the id of its run, which may have a webhook too. */
export function exportId(trace_id: string): string {
  return `${EXPORT_START}${trace_id}`;
}

/** Sorts after the ids of runs, which are hexadecimal. */
export const EXPORT_START = "otlp:";

/** Sealed signing secrets of workspaces. The previous secret of a workspace signs until `previous_valid_until`. */
export const webhook_secrets = sqliteTable("webhook_secrets", {
  workspace_id: text().primaryKey(),
  key_id: text().notNull(),
  ciphertext: text().notNull(),
  updated_at: text().notNull(),
  previous_key_id: text(),
  previous_ciphertext: text(),
  previous_valid_until: text(),
});
