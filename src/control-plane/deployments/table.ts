import { sql } from "drizzle-orm";
import {
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import type { RevisionTrigger } from "./revision-schema.ts";
import type { StartedStep } from "./revisions.ts";
import type { RevisionStatus } from "./schema.ts";
import type { StoredRevisionConfig, StoredSourceConfig } from "./stored.ts";
import type { Share } from "./traffic.ts";

export const deployments = sqliteTable(
  "deployments",
  {
    id: text().primaryKey(),
    workspace_id: text().notNull(),
    name: text().notNull(),
    display_name: text(),
    /** Host name below AGENTS_DOMAIN. */
    slug: text().notNull(),
    source: text().$type<"github" | "internal_source">().notNull(),
    source_config: text({ mode: "json" }).$type<StoredSourceConfig>().notNull(),
    /** Configuration of the next revision. The fields of a preview are merged into a copy of it. */
    source_revision_config: text({ mode: "json" }).$type<StoredRevisionConfig>().notNull(),
    status: text().$type<"READY" | "AWAITING_DELETE">().notNull(),
    latest_revision_id: text(),
    active_revision_id: text(),
    secrets_version: integer().notNull(),
    /** The project of its traces; `null` until it is created. */
    tracing_project_id: text(),
    /** Percentages of a split; `null` when the active revision serves alone. */
    traffic: text({ mode: "json" }).$type<Share[]>(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [
    uniqueIndex("deployments_name")
      .on(table.workspace_id, table.name)
      .where(sql`status <> 'AWAITING_DELETE'`),
    uniqueIndex("deployments_slug").on(table.slug),
    index("deployments_by_creation").on(table.workspace_id, table.created_at),
    index("deployments_deleting")
      .on(table.workspace_id, table.id)
      .where(sql`status = 'AWAITING_DELETE'`),
  ],
);

export const revisions = sqliteTable(
  "revisions",
  {
    id: text().primaryKey(),
    workspace_id: text().notNull(),
    deployment_id: text().notNull(),
    /** 1, 2, 3 ... within the deployment. A newer revision has a greater number. */
    number: integer().notNull(),
    source: text().$type<"github" | "internal_source">().notNull(),
    source_revision_config: text({ mode: "json" }).$type<StoredRevisionConfig>().notNull(),
    status: text().$type<RevisionStatus>().notNull(),
    /** Only the revision's own URL leads to it. A successful build does not make it active. */
    is_preview: integer({ mode: "boolean" }).notNull().default(false),
    /** Set when callers deleted it. Threads whose last run was on it still read their state with its code. */
    deleted_at: text(),
    status_reason: text(),
    status_message: text(),
    /** `null` for revisions created before the column existed. */
    trigger: text().$type<RevisionTrigger>(),
    /** Names of the secrets that were set or removed with it. `null` when the request had none, as for redeploys. */
    changed_secrets: text({ mode: "json" }).$type<string[]>(),
    /** At first the commit of the push, if any. An attempt replaces it by the commit that it fetched. */
    repo_commit_sha: text(),
    /** Whether an attempt has fetched `repo_commit_sha`. Later attempts then build this commit. */
    is_commit_fetched: integer({ mode: "boolean" }).notNull().default(false),
    /** First line of the commit's message. */
    repo_commit_message: text(),
    repo_commit_authored_at: text(),
    /** Steps that have begun, in order. Each ends when the next one begins. */
    steps: text({ mode: "json" }).$type<StartedStep[]>(),
    /** Id of the line of `build_logs` with the reason of a failure. */
    error_log_id: integer(),
    artifact_key: text(),
    /** Bytes of the artifact, its source map and its UI. */
    artifact_bytes: integer(),
    /** Bytes of its lines in `build_logs`. */
    log_bytes: integer().notNull().default(0),
    /** The whole langgraph.json. */
    config: text({ mode: "json" }).$type<Record<string, unknown>>(),
    config_env: text({ mode: "json" }).$type<Record<string, string>>(),
    graphs: text({ mode: "json" }).$type<string[]>(),
    /** Descriptions of the graphs, from the load check of the build. */
    descriptors: text({ mode: "json" }).$type<unknown>(),
    /** Fencing token of the build: an older attempt finds no row to write. */
    attempt: integer().notNull(),
    /** Number of attempts whose process or isolate ended before they did. */
    lost_attempts: integer().notNull().default(0),
    lease_expires_at: text(),
    /** When the queue message was sent last. */
    sent_at: text().notNull(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [
    uniqueIndex("revisions_number").on(table.deployment_id, table.number),
    index("revisions_by_status").on(table.status, table.sent_at),
    /** Covers the sums of stored bytes: rows have up to a megabyte before these columns. */
    index("revisions_by_size").on(
      table.deployment_id,
      table.artifact_key,
      table.artifact_bytes,
      table.log_bytes,
    ),
  ],
);

/** Uploaded tarballs. Those that no revision uses are deleted after a day. */
export const uploads = sqliteTable(
  "uploads",
  {
    object_path: text().primaryKey(),
    workspace_id: text().notNull(),
    deployment_id: text().notNull(),
    bytes: integer().notNull(),
    is_used: integer({ mode: "boolean" }).notNull().default(false),
    created_at: text().notNull(),
  },
  (table) => [
    index("uploads_by_deployment").on(table.deployment_id),
    index("uploads_unused")
      .on(table.workspace_id, table.created_at, table.bytes)
      .where(sql`is_used = 0`),
  ],
);

export const secrets = sqliteTable(
  "secrets",
  {
    deployment_id: text().notNull(),
    name: text().notNull(),
    workspace_id: text().notNull(),
    key_id: text().notNull(),
    ciphertext: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.deployment_id, table.name] })],
);

/** Deduplicates events: hosts deliver an event more than once. */
export const webhook_deliveries = sqliteTable(
  "webhook_deliveries",
  {
    integration_id: text().notNull(),
    delivery_id: text().notNull(),
    workspace_id: text().notNull(),
    created_at: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.integration_id, table.delivery_id] }),
    index("webhook_deliveries_by_time").on(table.created_at),
  ],
);

/** Stored and returned for clients that manage them. Heddle needs no listener to deploy. */
export const listeners = sqliteTable(
  "listeners",
  {
    id: text().primaryKey(),
    workspace_id: text().notNull(),
    version: text(),
    compute_type: text().$type<"k8s">().notNull(),
    compute_id: text().notNull(),
    compute_config: text({ mode: "json" }).$type<{ k8s_namespaces: string[] }>().notNull(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [uniqueIndex("listeners_compute").on(table.workspace_id, table.compute_id)],
);

export const integrations = sqliteTable(
  "integrations",
  {
    /** Number that Heddle assigns. `app_installation_id` is the number that the host assigned. */
    installation_id: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique(),
    workspace_id: text().notNull(),
    name: text().notNull(),
    /** Base of the repository host's API; the token goes to this host and no other. */
    api_url: text().notNull(),
    /** GitHub App and its installation, `null` for an access token. */
    app_id: text(),
    app_installation_id: integer(),
    /** Encrypted access token, or private key of the App. */
    key_id: text().notNull(),
    ciphertext: text().notNull(),
    created_at: text().notNull(),
  },
  (table) => [uniqueIndex("integrations_name").on(table.workspace_id, table.name)],
);
