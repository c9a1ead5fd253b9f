import { sql } from "drizzle-orm";
import {
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import type { TraceTotals } from "../storage/stats.ts";

/** What holds trace runs; `session_id` on the wire. A deleted one keeps its row until nothing else is left. */
export const projects = sqliteTable(
  "projects",
  {
    id: text().primaryKey(),
    workspace_id: text().notNull(),
    name: text().notNull(),
    description: text(),
    extra: text({ mode: "json" }).$type<Record<string, unknown>>(),
    start_time: text().notNull(),
    end_time: text(),
    default_dataset_id: text(),
    reference_dataset_id: text(),
    trace_tier: text().$type<"longlived" | "shortlived">(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
    deleted_at: text(),
    /** When the message of its deletion was sent last. */
    sent_at: text(),
  },
  (table) => [
    uniqueIndex("projects_name").on(table.workspace_id, table.name).where(sql`deleted_at is null`),
    index("projects_by_start").on(table.workspace_id, table.start_time),
    index("projects_deleted").on(table.sent_at).where(sql`deleted_at is not null`),
  ],
);

/** The catalogue: one row per object. Counts follow the object by moments; `seq` says how far they got. */
export const partitions = sqliteTable(
  "partitions",
  {
    project_id: text().notNull(),
    day: text().notNull(),
    slot: integer().notNull(),
    workspace_id: text().notNull(),
    rows: integer().notNull(),
    bytes: integer().notNull(),
    seq: integer().notNull(),
    min_start_us: integer(),
    max_start_us: integer(),
    /** How many traces began here; null in rows that were written before they were counted. */
    roots: integer(),
    /** Sums of its traces as of `stats_seq`, written when nothing has come for a while. */
    stats: text({ mode: "json" }).$type<TraceTotals>(),
    stats_seq: integer(),
    updated_at: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.project_id, table.day, table.slot] }),
    index("partitions_by_day").on(table.workspace_id, table.day),
  ],
);

/** Where a trace run is whose id does not tell the day it is kept under. */
export const run_locations = sqliteTable(
  "run_locations",
  {
    workspace_id: text().notNull(),
    run_id: text().notNull(),
    project_id: text().notNull(),
    day: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.run_id] }),
    index("run_locations_by_project").on(table.project_id),
  ],
);
