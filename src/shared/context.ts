import { type DrizzleD1Database, drizzle } from "drizzle-orm/d1";
import type { RequestIdVariables } from "hono/request-id";
import type { SecureHeadersVariables } from "hono/secure-headers";
import { withCounts } from "./database/counted-database.ts";

export type Role = "admin" | "editor" | "viewer";

/**
 * Principal of a request. `system` is work for one workspace without a user or a key, such as a queue message, a cron or
 * a call of an agent to its own server.
 */
export type Actor =
  | { type: "api_key"; key_id: string; user_id: string | null }
  | { type: "user"; user_id: string }
  /** User that an agent's own code authenticated, by the identity it returned. */
  | { type: "agent_user"; deployment_id: string; identity: string }
  | { type: "system"; job: string };

export type Caller = {
  organization_id: string;
  workspace_id: string;
  role: Role;
  plan: "developer" | "plus" | "enterprise";
  actor: Actor;
};

export type Database = DrizzleD1Database;

/** User as the agent's code describes it. Has JSON values only. */
export type AgentUser = { identity: string; permissions: string[]; [field: string]: unknown };

/** Deployment that a request addresses, with the agent's user. */
export type Access = {
  deployment_id: string;
  /** `null` for a request without a user, which sees the data of all users. */
  user: AgentUser | null;
  /** Revision whose code authorizes the user. */
  revision: { deployment_id: string; revision_id: string; secrets_version: number };
  /**
   * Whether the agent's handlers were called for the request, or the request needs no authorization. Otherwise a
   * successful response to a user is withheld, except on paths without data of users.
   */
  isAuthorizationChecked: boolean;
};

export type Context = {
  env: Env;
  db: Database;
  caller: Caller;
  /** Set for requests to an agent. */
  access?: Access;
  /** Resources for the audit log, beside those of the path and the query. Recorded when the operation fails too. */
  audited?: { name: string; id: string }[];
};

/** Hono's environment. The authentication middleware of each family sets `c.var.ctx`. */
export type AppEnv = {
  Bindings: Env;
  Variables: RequestIdVariables & SecureHeadersVariables & { ctx: Context };
};

export function database(env: Env): Database {
  return drizzle(withCounts(env.DB));
}

export function contextFor(env: Env, caller: Caller): Context {
  return { env, db: database(env), caller };
}

/**
 * Returns the context of an internal job, or of a request whose token names the data, in one workspace. It has no
 * organization and no paid features.
 */
export function jobContext(env: Env, workspace_id: string, job: string): Context {
  return contextFor(env, {
    organization_id: "",
    workspace_id,
    role: "editor",
    plan: "developer",
    actor: { type: "system", job },
  });
}
