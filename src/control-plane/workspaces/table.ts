import { sql } from "drizzle-orm";
import {
  check,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  unique,
} from "drizzle-orm/sqlite-core";

const ROLES = ["admin", "editor", "viewer"] as const;
const ORGANIZATION_ROLES = ["admin", "user"] as const;

export const organizations = sqliteTable("organizations", {
  id: text().primaryKey(),
  name: text().notNull().unique(),
  plan: text({ enum: ["developer", "plus", "enterprise"] }).notNull(),
  created_at: text().notNull(),
});

/** `id` is the tenant id of requests and responses. */
export const workspaces = sqliteTable(
  "workspaces",
  {
    id: text().primaryKey(),
    organization_id: text()
      .notNull()
      .references(() => organizations.id),
    name: text().notNull(),
    created_at: text().notNull(),
  },
  (table) => [unique().on(table.organization_id, table.name)],
);

export const users = sqliteTable(
  "users",
  {
    id: text().primaryKey(),
    organization_id: text()
      .notNull()
      .references(() => organizations.id),
    email: text().notNull(),
    /**
     * The person that the user is bound to, by a first sign-in or bearer token, or an accepted invitation; `null`
     * before. A sign-in does not find a bound user by its email.
     */
    oidc_subject: text(),
    /** An admin of the organization is an admin of each of its workspaces. */
    organization_role: text({ enum: ORGANIZATION_ROLES }).notNull().default("user"),
    created_at: text().notNull(),
  },
  (table) => [
    unique().on(table.email, table.organization_id),
    unique().on(table.oidc_subject, table.organization_id),
  ],
);

export const memberships = sqliteTable(
  "memberships",
  {
    user_id: text()
      .notNull()
      .references(() => users.id),
    workspace_id: text()
      .notNull()
      .references(() => workspaces.id),
    role: text({ enum: ROLES }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.user_id, table.workspace_id] })],
);

/** Sessions of the console that were ended before they expired. */
export const ended_sessions = sqliteTable(
  "ended_sessions",
  {
    /** Hash of the token. */
    sha256: text().notNull(),
    /**
     * An organization of the person, empty when the person was in none. A trigger of this table raises the organization's
     * version in `changes`, so that isolates read its callers again.
     */
    organization_id: text().notNull(),
    expires_at: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.sha256, table.organization_id] }),
    index("ended_sessions_by_expiry").on(table.expires_at),
  ],
);

/**
 * A service key has a role and, unless it is organization-wide, a workspace. A personal key has the roles of its
 * user. `previous_sha256` is the secret before the last rotation, valid until `previous_expires_at`.
 */
export const api_keys = sqliteTable(
  "api_keys",
  {
    id: text().primaryKey(),
    sha256: text().notNull().unique(),
    prefix: text().notNull(),
    kind: text({ enum: ["personal", "service"] }).notNull(),
    user_id: text().references(() => users.id),
    organization_id: text()
      .notNull()
      .references(() => organizations.id),
    workspace_id: text().references(() => workspaces.id),
    role: text({ enum: ROLES }),
    description: text().notNull().default(""),
    /** Id of the key or of the user that created it; `null` for keys of the command line. */
    created_by: text(),
    created_at: text().notNull(),
    expires_at: text(),
    /** Written once a day, so the latest use may be up to a day later. */
    last_used_at: text(),
    revoked_at: text(),
    previous_sha256: text().unique(),
    previous_expires_at: text(),
  },
  (table) => [
    index("api_keys_by_workspace").on(table.workspace_id),
    index("api_keys_by_organization").on(table.organization_id),
    index("api_keys_by_user").on(table.user_id),
    check(
      "api_keys_kind",
      sql`(${table.kind} = 'personal' AND ${table.user_id} IS NOT NULL AND ${table.role} IS NULL) OR (${table.kind} = 'service' AND ${table.user_id} IS NULL AND ${table.role} IS NOT NULL)`,
    ),
  ],
);

/** A change, or a refused attempt. Triggers make the rows append-only. */
export const audit_logs = sqliteTable(
  "audit_logs",
  {
    id: text().primaryKey(),
    workspace_id: text().notNull(),
    created_at: text().notNull(),
    request_id: text().notNull(),
    action: text().notNull(),
    actor_type: text({ enum: ["api_key", "user", "system"] }).notNull(),
    actor_id: text().notNull(),
    /** The user of a personal key, or the user who signed in or sent a token; `null` for others. */
    user_id: text(),
    resources: text({ mode: "json" }).$type<{ name: string; id: string }[]>().notNull(),
    status: integer().notNull(),
  },
  (table) => [index("audit_logs_by_workspace").on(table.workspace_id, table.id)],
);
