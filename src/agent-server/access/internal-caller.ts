import type { Access, AgentUser, Caller } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { parseAgentPath } from "./request.ts";
import type { Visitor } from "./visitor.ts";

export type AuthenticatedCaller = { caller: Caller; access?: Access };

/**
 * Internal call: a request from the Worker itself or from an agent's code, which needs no credential. It reaches
 * the agent server of one deployment and nothing else.
 */
export type InternalCaller = AgentRef & { depth: number } & (Client | Builtin | Webhook | Closed);

/** `ref`: reference of the deployment in the path of the call, an id or a slug. For one revision with `@{revision}`. */
export type AgentRef = { deployment_id: string; ref: string };

/** The agent's own code, which calls its own server. */
type Client = { kind: "client" };
/**
 * The agent's app, which calls the routes behind it. `authenticated` is `null` where the app runs before
 * authentication: the call then brings credentials from the app, or acts as `visitor`.
 */
type Builtin = {
  kind: "builtin";
  authenticated: AuthenticatedCaller | null;
  visitor: Visitor | null;
};
/** Delivers a webhook to the agent's app. The app gets `Closed` for the routes behind it. */
type Webhook = { kind: "webhook"; user: AgentUser | null };
/** Refused by the gate: a webhook that the app does not handle reaches no route. */
type Closed = { kind: "closed" };

const INTERNAL_CALLER = Symbol("internal");

/** Returns bindings with the internal call: unlike a header, a request cannot set it. Leaves `env` unchanged. */
export function withInternalCaller(env: Env, internal: InternalCaller): Env {
  return Object.create(env, { [INTERNAL_CALLER]: { value: internal } });
}

export function internalCallerOf(env: Env): InternalCaller | null {
  if (!Object.hasOwn(env, INTERNAL_CALLER)) return null;
  return (env as Env & { [INTERNAL_CALLER]: InternalCaller })[INTERNAL_CALLER];
}

/** Whether a route belongs to the agent server that the internal call is bound to. */
export function isOwnServer({ ref }: AgentRef, route_path: string): boolean {
  return ref !== "" && parseAgentPath(route_path).ref === ref;
}

export function routeNotFound(): AppError {
  return new AppError("not_found", "404 Not Found");
}
