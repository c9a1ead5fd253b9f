import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { WireConfig } from "../../../isolate/contract.ts";
import type { ThreadStatus } from "../runs.ts";

/** Assistants, with the fields of their current version. Each graph has a system assistant. */
export const assistants = sqliteTable(
  "assistants",
  {
    deployment_id: text().notNull(),
    assistant_id: text().notNull(),
    workspace_id: text().notNull(),
    graph_id: text().notNull(),
    version: integer().notNull(),
    name: text().notNull(),
    description: text(),
    config: text({ mode: "json" }).$type<WireConfig>().notNull(),
    context: text({ mode: "json" }).$type<unknown>().notNull(),
    metadata: text({ mode: "json" }).$type<Record<string, unknown>>().notNull(),
    is_system: integer({ mode: "boolean" }).notNull(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
    /** Hidden from callers. The row is deleted after its threads. */
    deleted_at: text(),
    /** Threads created up to this time are being deleted. */
    purge_at: text(),
  },
  (table) => [
    primaryKey({ columns: [table.deployment_id, table.assistant_id] }),
    index("assistants_by_creation").on(table.deployment_id, table.created_at),
    index("assistants_by_purge").on(table.purge_at).where(sql`purge_at is not null`),
  ],
);

export const assistant_versions = sqliteTable(
  "assistant_versions",
  {
    deployment_id: text().notNull(),
    assistant_id: text().notNull(),
    version: integer().notNull(),
    workspace_id: text().notNull(),
    graph_id: text().notNull(),
    name: text().notNull(),
    description: text(),
    config: text({ mode: "json" }).$type<WireConfig>().notNull(),
    context: text({ mode: "json" }).$type<unknown>().notNull(),
    metadata: text({ mode: "json" }).$type<Record<string, unknown>>().notNull(),
    created_at: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.deployment_id, table.assistant_id, table.version] })],
);

/** Search index of threads. The object of a thread owns its data. */
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
    state_updated_at: text(),
    /** Searchable digest of the values, `null` before the first state. */
    digest: text({ mode: "json" }).$type<Record<string, unknown>>(),
    /** Sequence of the object's outbox: an older entry never replaces a newer one. */
    seq: integer().notNull(),
    /** The thread of a run without one, which ends with it. Only bulk cancellation and deletion find it here. */
    is_temporary: integer({ mode: "boolean" }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.deployment_id, table.thread_id] }),
    index("threads_by_creation").on(table.deployment_id, table.created_at),
    index("threads_by_update").on(table.deployment_id, table.updated_at),
    index("threads_waiting")
      .on(table.workspace_id, table.state_updated_at, table.thread_id)
      .where(sql`status = 'interrupted'`),
    index("threads_by_assistant").on(table.deployment_id, sql`metadata ->> 'assistant_id'`),
  ],
);
