import { type DrizzleD1Database, drizzle } from "drizzle-orm/d1";

export type Role = "admin" | "editor" | "viewer";

/** Who asks. `system` is a queue message or a cron that acts for one workspace. */
export type Actor =
  | { type: "api_key"; key_id: string; user_id: string | null }
  | { type: "user"; user_id: string }
  | { type: "system"; job: string };

export type Caller = {
  organization_id: string;
  workspace_id: string;
  role: Role;
  plan: "developer" | "plus" | "enterprise";
  actor: Actor;
};

export type Database = DrizzleD1Database;

export type Context = { env: Env; db: Database; caller: Caller };

/** What Hono carries: `c.var.ctx` is set by the authentication middleware of each family. */
export type AppEnv = { Bindings: Env; Variables: { ctx: Context; request_id: string } };

export function database(env: Env): Database {
  return drizzle(env.DB);
}

export function contextFor(env: Env, caller: Caller): Context {
  return { env, db: database(env), caller };
}
