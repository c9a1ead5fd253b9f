import type { Access, AgentUser, Caller } from "../shared/context.ts";

export type Admitted = { caller: Caller; access?: Access };

/** What a request is that comes from the Worker itself and not from outside. */
export type Inner = { depth: number } & (Client | Builtin | Webhook | Closed);

/** The agent's own code, at its own server. */
type Client = { kind: "client" };
/** Behind the agent's app. Null: nobody has let it in yet. */
type Builtin = { kind: "builtin"; admitted: Admitted | null };
/** To the agent's app, and no further: `Closed` is what is behind it then. */
type Webhook = { kind: "webhook"; user: AgentUser | null };
type Closed = { kind: "closed" };

const INNER = Symbol("inner");

/** Beside the bindings, where no header can say it, and of this one request: the bindings stay as they are. */
export function withInner(env: Env, inner: Inner): Env {
  return Object.create(env, { [INNER]: { value: inner } });
}

export function innerOf(env: Env): Inner | null {
  if (!Object.hasOwn(env, INNER)) return null;
  return (env as Env & { [INNER]: Inner })[INNER];
}
