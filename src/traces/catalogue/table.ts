import { sql } from "drizzle-orm";
import {
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import type { TraceTotals } from "../aggregates/stats.ts";

export type Redactions = {
  emails: boolean;
  keys: boolean;
  /** Expressions of RE2. */
  patterns: string[];
};

/**
 * Projects of trace runs. The id of a project is `session_id` on the wire. A deleted project keeps its row until
 * its data is deleted.
 */
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
    /** Fraction of traces to store, for traces that begin at `sampled_since` or later. `null`: all. */
    sampling_rate: real(),
    sampled_since: text(),
    /** Kinds of texts that are replaced in new runs. */
    redactions: text({ mode: "json" }).$type<Redactions>(),
    /** Start of the legal hold, during which no trace of the project is deleted. `null`: no hold. */
    held_since: text(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
    deleted_at: text(),
    /** Time of the last deletion message. */
    sent_at: text(),
  },
  (table) => [
    uniqueIndex("projects_name").on(table.workspace_id, table.name).where(sql`deleted_at is null`),
    index("projects_by_start").on(table.workspace_id, table.start_time),
    index("projects_deleted").on(table.sent_at).where(sql`deleted_at is not null`),
  ],
);

/** Retention tier for the projects of a workspace that have none. Without a row, it is the tier of the installation. */
export const ttl_settings = sqliteTable("ttl_settings", {
  workspace_id: text().primaryKey(),
  default_trace_tier: text().$type<"longlived" | "shortlived">().notNull(),
  apply_to_all_projects: integer({ mode: "boolean" }).notNull(),
  created_at: text().notNull(),
  updated_at: text().notNull(),
});

/** Partitions of runs by project, day and slot, each a Durable Object. `seq` is the version of the counts. */
export const partitions = sqliteTable(
  "partitions",
  {
    project_id: text().notNull(),
    day: text().notNull(),
    slot: integer().notNull(),
    workspace_id: text().notNull(),
    rows: integer().notNull(),
    bytes: integer().notNull(),
    /** Bytes of segments' bodies and of sealed files in R2. */
    file_bytes: integer().notNull().default(0),
    /** Bytes of single payloads in R2. */
    payload_bytes: integer().notNull().default(0),
    /** Bytes of attachments in R2. */
    attachment_bytes: integer().notNull().default(0),
    seq: integer().notNull(),
    min_start_us: integer(),
    max_start_us: integer(),
    /** Number of runs without a parent. */
    roots: integer().notNull(),
    /** Totals as of `stats_seq`, written after a quiet period. */
    stats: text({ mode: "json" }).$type<TraceTotals>(),
    stats_seq: integer(),
    updated_at: text().notNull(),
    /** `seq` up to which expired short-lived traces are deleted. `null` when some may remain. */
    expired_seq: integer(),
    /** Time of the last expiry message. */
    expiry_sent_at: text(),
    /** Set when expiry or the deletion of the project leaves no runs: new runs go to the next generation. */
    closed_at: text(),
  },
  (table) => [
    primaryKey({ columns: [table.project_id, table.day, table.slot] }),
    index("partitions_by_day").on(table.workspace_id, table.day),
    index("partitions_by_age").on(table.day),
    index("partitions_unexpired").on(table.day).where(sql`expired_seq is null`),
  ],
);
