import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { ClientAuth, ProviderType } from "./provider-schema.ts";

export const oauth_providers = sqliteTable(
  "oauth_providers",
  {
    id: text().primaryKey(),
    workspace_id: text().notNull(),
    organization_id: text().notNull(),
    provider_id: text().notNull(),
    name: text().notNull(),
    client_id: text().notNull(),
    auth_url: text().notNull(),
    token_url: text().notNull(),
    /** Endpoint of RFC 7009: configured, read by MCP discovery, or stored after the first revocation that called it. */
    revocation_url: text(),
    /** Set by MCP discovery, cleared when `token_url` changes its origin. Redirects with another `iss` are refused. */
    issuer: text(),
    uses_pkce: integer({ mode: "boolean" }).notNull(),
    code_challenge_method: text().$type<"S256" | "plain">().notNull(),
    provider_type: text().$type<ProviderType>(),
    token_endpoint_auth_method: text().$type<ClientAuth>().notNull(),
    mcp_server_url: text(),
    is_dynamic_client: integer({ mode: "boolean" }).notNull(),
    key_id: text().notNull(),
    /** Client secret and request headers, sealed together. */
    ciphertext: text().notNull(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [uniqueIndex("oauth_providers_name").on(table.workspace_id, table.provider_id)],
);

/** The directory of tokens. Their objects hold the grants. */
export const oauth_tokens = sqliteTable(
  "oauth_tokens",
  {
    id: text().primaryKey(),
    workspace_id: text().notNull(),
    oauth_provider_id: text()
      .notNull()
      .references(() => oauth_providers.id),
    provider_id: text().notNull(),
    /** `user:{id}` or `key:{id}`: the principal that the token belongs to. */
    owner: text().notNull(),
    /** Id of the user that the token is for, as the owner names its users; empty for the owner itself. */
    subject: text().notNull(),
    /** The agent that the token was made for; connections allow others. `null` for all agents of the owner. */
    agent_id: text(),
    provider_account_label: text(),
    scopes: text({ mode: "json" }).$type<string[]>().notNull(),
    /** The requested scopes: a provider may grant fewer, or rename them. */
    requested_scopes: text({ mode: "json" }).$type<string[]>().notNull(),
    expires_at: text(),
    is_default: integer({ mode: "boolean" }).notNull(),
    /** Id of the encryption key of the grant in its object, as of the last reseal; `null` before. */
    key_id: text(),
    /**
     * Time of the next check whether the owner is still in the workspace; `null` without one. Triggers and new tokens
     * set the current time. The sweep sets the time of its next try, or the expiry of the owner's key.
     */
    left_at: text(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [
    index("oauth_tokens_by_owner").on(table.workspace_id, table.owner, table.provider_id),
    index("oauth_tokens_by_provider").on(table.oauth_provider_id),
    index("oauth_tokens_by_left").on(table.left_at).where(sql`left_at IS NOT NULL`),
  ],
);

/** A requested consent. */
export const oauth_authorizations = sqliteTable(
  "oauth_authorizations",
  {
    id: text().primaryKey(),
    workspace_id: text().notNull(),
    oauth_provider_id: text()
      .notNull()
      .references(() => oauth_providers.id),
    provider_id: text().notNull(),
    owner: text().notNull(),
    subject: text().notNull(),
    agent_id: text(),
    scopes: text({ mode: "json" }).$type<string[]>().notNull(),
    is_default: integer({ mode: "boolean" }).notNull(),
    /** Hash of the state; `null` after its use. */
    state_sha256: text(),
    key_id: text().notNull(),
    /** The PKCE verifier (without PKCE an empty text), encrypted. Empty when the status is `completed` or `failed`. */
    ciphertext: text().notNull(),
    redirect_uri: text().notNull(),
    /** Id of the token that the consent creates or renews. */
    token_id: text().notNull(),
    status: text().$type<"pending" | "exchanging" | "completed" | "failed">().notNull(),
    error: text(),
    created_at: text().notNull(),
    expires_at: text().notNull(),
    /** Time of the sweep's next try to settle an exchange that a crash ended; `null` before the first. */
    next_attempt_at: text(),
  },
  (table) => [
    uniqueIndex("oauth_authorizations_state").on(table.state_sha256),
    index("oauth_authorizations_by_owner").on(table.workspace_id, table.owner, table.id),
    index("oauth_authorizations_by_expiry").on(table.expires_at),
    index("oauth_authorizations_by_token").on(table.token_id),
    index("oauth_authorizations_by_provider").on(table.oauth_provider_id),
  ],
);

/** A token that its owner has given to one agent. */
export const oauth_connections = sqliteTable(
  "oauth_connections",
  {
    id: text().primaryKey(),
    workspace_id: text().notNull(),
    agent_id: text().notNull(),
    oauth_token_id: text()
      .notNull()
      .references(() => oauth_tokens.id),
    created_by: text().notNull(),
    created_at: text().notNull(),
  },
  (table) => [
    uniqueIndex("oauth_connections_once").on(table.agent_id, table.oauth_token_id),
    index("oauth_connections_by_token").on(table.oauth_token_id),
  ],
);
