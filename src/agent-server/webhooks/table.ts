import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { AgentUser } from "../../shared/context.ts";
import type { Attempt, DeliveryStatus } from "./schema.ts";

/** What a run's webhook is to be told, and what became of it. The payload lies in R2 until it is delivered. */
export const run_webhooks = sqliteTable(
  "run_webhooks",
  {
    run_id: text().primaryKey(),
    workspace_id: text().notNull(),
    deployment_id: text().notNull(),
    thread_id: text().notNull(),
    url: text().notNull(),
    /** As whom of the agent's users its own app is told. */
    user: text({ mode: "json" }).$type<AgentUser>(),
    status: text().$type<DeliveryStatus>().notNull(),
    /** Grows with each attempt: only the newest may write anything down. */
    attempt: integer().notNull(),
    /** Those before it was last asked for anew: the pauses begin again behind them. */
    attempts_before: integer().notNull().default(0),
    attempts: text({ mode: "json" }).$type<Attempt[]>().notNull(),
    /** Of one that is pending the next attempt; of one that ended, when it is forgotten. */
    due_at: text().notNull(),
    lease_expires_at: text(),
    sent_at: text().notNull(),
    created_at: text().notNull(),
    finished_at: text(),
  },
  (table) => [
    index("run_webhooks_by_due").on(table.status, table.due_at),
    index("run_webhooks_by_deployment").on(table.deployment_id),
  ],
);

/** What signs a workspace's webhooks, sealed; and what signed them before, for a while. */
export const webhook_secrets = sqliteTable("webhook_secrets", {
  workspace_id: text().primaryKey(),
  key_id: text().notNull(),
  ciphertext: text().notNull(),
  updated_at: text().notNull(),
  previous_key_id: text(),
  previous_ciphertext: text(),
  previous_valid_until: text(),
});
