import { type DrizzleD1Database, drizzle } from "drizzle-orm/d1";
import type { RequestIdVariables } from "hono/request-id";
import type { SecureHeadersVariables } from "hono/secure-headers";

export type Role = "admin" | "editor" | "viewer";

/** Who asks. `system` is a queue message or a cron that acts for one workspace. */
export type Actor =
  | { type: "api_key"; key_id: string; user_id: string | null }
  | { type: "user"; user_id: string }
  /** Somebody whom an agent's own code lets in, by the name that it gives them. */
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

/** Who the code of an agent says is asking: plain data, as it says it. */
export type AgentUser = { identity: string; permissions: string[]; [field: string]: unknown };

/** At which agent somebody asks, and as whom of its users. */
export type Access = {
  deployment_id: string;
  /** Null: whoever asks has no user's limits. */
  user: AgentUser | null;
  /** The revision whose code knows the users. */
  revision: { deployment_id: string; revision_id: string; secrets_version: number };
  /** Whether that code was asked what the user may; an answer that nobody was asked about is withheld. */
  isAuthorizationChecked: boolean;
};

export type Context = {
  env: Env;
  db: Database;
  caller: Caller;
  /** Of requests to an agent. */
  access?: Access;
};

/** What Hono carries: `c.var.ctx` is set by the authentication middleware of each family. */
export type AppEnv = {
  Bindings: Env;
  Variables: RequestIdVariables & SecureHeadersVariables & { ctx: Context };
};

export function database(env: Env): Database {
  return drizzle(env.DB);
}

export function contextFor(env: Env, caller: Caller): Context {
  return { env, db: database(env), caller };
}

/** For a job of our own in one workspace that asks for neither organization nor plan. */
export function jobContext(env: Env, workspace_id: string, job: string): Context {
  return contextFor(env, {
    organization_id: "",
    workspace_id,
    role: "editor",
    plan: "developer",
    actor: { type: "system", job },
  });
}
