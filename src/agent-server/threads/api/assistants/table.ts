import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { WireConfig } from "../../../../isolate/contract.ts";

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
    /** Set when the assistant is hidden from callers. The row is deleted after its threads. */
    deleted_at: text(),
    /** Set while the assistant's threads that were created up to this time are being deleted. */
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
