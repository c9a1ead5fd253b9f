import {
  type ActiveRevision,
  activeRevision,
  servedRevision,
} from "../../control-plane/deployments/api/service.ts";
import { findCachedPrincipal } from "../../control-plane/workspaces/service.ts";
import type { AuthCall, AuthResource } from "../../isolate/auth-contract.ts";
import { assertMay } from "../../shared/auth.ts";
import {
  type Access,
  type AgentUser,
  type Caller,
  type Context,
  contextFor,
} from "../../shared/context.ts";
import { AppError, notFound } from "../../shared/errors.ts";
import type { Filters } from "../../shared/filters.ts";
import { callAuth } from "./agent-auth.ts";
import { VerdictAnswer } from "./boundary.ts";
import { configurableHeaders, type HttpSettings, httpSettings } from "./http-settings.ts";
import { authSettings } from "./settings.ts";

export { configurableHeaders, type HttpSettings, httpSettings };

/** Resource and action of `Auth.on`. The agent's handlers may change `value`. */
export type AuthorizationRequest<V> = { resource: AuthResource; action: string; value: V };

/** `filters` match rows by their metadata, `null` matches all. */
export type Authorization<V> = { value: V; filters: Filters | null };

/**
 * Authorizes a user of the agent by the agent's own handlers. All other callers are allowed.
 * @throws AppError when the handlers refuse, and for a user without an identity
 */
export async function authorize<V extends object>(
  { env, access }: Context,
  { resource, action, value }: AuthorizationRequest<V>,
): Promise<Authorization<V>> {
  if (!access?.user) return { value, filters: null };
  access.isAuthorizationChecked = true;
  const { user, revision } = access;
  if (!user.identity)
    throw new AppError("unauthenticated", "Authentication required: send an API key as X-Api-Key.");
  // Fields of users and values are defined by the agent. Its isolate returns only JSON.
  const call = { user, resource, action, value } as AuthCall;
  const verdict = await callAuth(env, revision, "authorize", VerdictAnswer, (auth) =>
    auth.authorize(call),
  );
  return { value: verdict.value as V, filters: verdict.filters };
}

/** Marks a response as safe without handlers: it is the same for all users, or the services behind it authorize. */
export function skipAuthorization({ access }: Context): void {
  if (access) access.isAuthorizationChecked = true;
}

/**
 * Returns the access of a principal that is stored with a session, a run or a cron.
 * @returns `null` when no revision serves
 * @throws AppError 403 for a user of an agent that has no `auth` any more: no handler could restrict the user
 */
export async function accessOf(
  env: Env,
  deployment_id: string,
  { caller, user }: { caller: Caller; user: AgentUser | null },
): Promise<Access | null> {
  const revision = await servedRevision(env, deployment_id);
  if (!revision) return null;
  const hasOwnAuth = authSettings(revision.config) !== null;
  if (!hasOwnAuth && caller.actor.type === "agent_user") {
    const text = "The agent has no custom authentication: use an API key of the workspace.";
    throw new AppError("forbidden", text);
  }
  return toAccess(revision, hasOwnAuth ? user : null);
}

/** Returns the context of a principal that was stored with a cron or a run. Its rights are at most `max_age_ms` old. */
export async function principalContext(
  env: Env,
  deployment_id: string,
  { caller, user = null }: { caller: Caller; user?: AgentUser | null },
  max_age_ms = 0,
): Promise<Context> {
  const ctx = contextFor(env, await findCachedPrincipal(env, caller, max_age_ms));
  const access = await accessOf(env, deployment_id, { caller, user });
  return access ? { ...ctx, access } : ctx;
}

/** Whether a retry cannot help: the principal has lost its rights, or the agent's own auth refuses it. */
export function isFinalRefusal({ status }: AppError): boolean {
  return status === 401 || status === 403;
}

export function toAccess(revision: ActiveRevision, user: AgentUser | null): Access {
  const { deployment_id, revision_id, secrets_version } = revision;
  return {
    deployment_id,
    user,
    revision: { deployment_id, revision_id, secrets_version },
    isAuthorizationChecked: false,
  };
}

/**
 * Returns the revision that serves a deployment, which is named by id or slug, with `@{revision}` for one revision.
 * When traffic is split between revisions, the thread decides.
 */
export async function openAgent(
  ctx: Context,
  deployment_id: string,
  scope: "read" | "write",
  thread_id: string | null = null,
): Promise<ActiveRevision> {
  assertMay(ctx, scope);
  const agent = await activeRevision(ctx, deployment_id, thread_id);
  assertAccess(ctx, agent);
  return agent;
}

/**
 * Whether a member of the workspace may read the agent's threads: a revision serves, and it does not authenticate users
 * itself. @throws Error in an outage of D1
 */
export async function isAgentReadable(ctx: Context, deployment_id: string): Promise<boolean> {
  const agent = await servedRevision(ctx.env, deployment_id);
  return agent?.workspace_id === ctx.caller.workspace_id && hasAccess(ctx, agent);
}

function assertAccess(ctx: Context, agent: ActiveRevision): void {
  if (!hasAccess(ctx, agent)) throw notFound("Deployment", agent.deployment_id);
}

/** Access granted for one deployment is not valid for another. */
function hasAccess({ access }: Context, { deployment_id, config }: ActiveRevision): boolean {
  return access ? access.deployment_id === deployment_id : authSettings(config) === null;
}

export function metadataOf({ metadata }: { metadata?: unknown }): Record<string, unknown> {
  if (metadata === undefined || metadata === null) return {};
  if (typeof metadata === "object" && !Array.isArray(metadata)) return { ...metadata };
  const text = "The agent's auth handler must leave the metadata an object.";
  throw new AppError("internal", text);
}
