import type { Context as HonoContext } from "hono";
import {
  type ActiveRevision,
  servedRevision,
} from "../../control-plane/deployments/api/service.ts";
import type { AgentUser, AppEnv, Caller } from "../../shared/context.ts";
import { assertAnonymousRate, limitFailures } from "../../shared/http/rate-limit.ts";
import { callAuth } from "./agent-auth.ts";
import { UserAnswer } from "./boundary.ts";
import { ANONYMOUS, agentCaller, callerOf, STUDIO_USER } from "./callers.ts";
import type { AuthenticatedCaller, InternalCaller } from "./internal-caller.ts";
import { type AgentRoute, parseAgentPath, toWireRequest } from "./request.ts";
import { toAccess } from "./service.ts";
import { type AuthSettings, authSettings } from "./settings.ts";
import { resolveCallerBehindApp } from "./visitor.ts";

/** A request to an agent, with the revision that serves it. */
export type AgentRequest = AgentRoute & {
  request: Request;
  revision: ActiveRevision;
  auth: AuthSettings | null;
  /** Whether the URL names another revision than the active one. Such a request needs a credential of the workspace. */
  isPreview: boolean;
};

/** Paths that clients may GET before they have a token. */
export const PUBLIC_PATHS = [/^\/info$/, /^\/ui(\/|$)/];

/** @returns `null` when the revision that the path names does not serve or, in a path without one, no revision does */
export async function resolveAgentRequest(c: HonoContext<AppEnv>): Promise<AgentRequest | null> {
  const route = parseAgentPath(c.req.path);
  const [deployment = ""] = route.ref.split("@");
  const serving = await servedRevision(c.env, deployment);
  const isPinned = route.ref !== deployment;
  const revision = isPinned ? await servedRevision(c.env, route.ref) : serving;
  if (!revision) return null;
  const isPreview = revision.revision_id !== serving?.revision_id;
  const request = c.req.raw;
  return { ...route, request, revision, auth: authSettings(revision.config), isPreview };
}

export async function authenticate(
  { env, req }: HonoContext<AppEnv>,
  agentRequest: AgentRequest | null,
  internal: InternalCaller | null,
): Promise<AuthenticatedCaller> {
  const visitor = internal?.kind === "builtin" ? internal.visitor : null;
  const resolve = () => resolveCallerBehindApp(env, req.raw.headers, visitor);
  if (!agentRequest) return { caller: await resolve() };
  if (agentRequest.auth)
    return authenticateAgentUser(env, { ...agentRequest, auth: agentRequest.auth }, resolve);
  const isAgent = isAgentItself(agentRequest, internal);
  const caller = isAgent ? await agentCaller(env, agentRequest.revision) : await resolve();
  return { caller, access: toAccess(agentRequest.revision, null) };
}

async function authenticateAgentUser(
  env: Env,
  agentRequest: AgentRequest & { auth: AuthSettings },
  resolve: () => Promise<Caller>,
): Promise<AuthenticatedCaller> {
  const isStudio =
    agentRequest.auth.allows_studio &&
    agentRequest.request.headers.get("x-auth-scheme") === "langsmith";
  const caller = isStudio || agentRequest.isPreview ? await resolve() : null;
  // Callers of another workspace receive 404 from the routes.
  if (caller && caller.workspace_id !== agentRequest.revision.workspace_id) return { caller };
  const user = isStudio ? STUDIO_USER : await authenticateUser(env, agentRequest);
  const access = toAccess(agentRequest.revision, user);
  return { caller: caller ?? (await callerOf(env, agentRequest.revision, user)), access };
}

async function authenticateUser(env: Env, agentRequest: AgentRequest): Promise<AgentUser> {
  const { headers, method } = agentRequest.request;
  if (matches(PUBLIC_PATHS, agentRequest.path) && method === "GET") {
    assertAnonymousRate(headers);
    return ANONYMOUS;
  }
  const wire = toWireRequest(agentRequest.request, agentRequest.path, issuerAt(env, agentRequest));
  return limitFailures(headers, agentRequest.revision.deployment_id, (assertRate) => {
    assertRate();
    return callAuth(env, agentRequest.revision, "authenticateRequest", UserAnswer, (auth) =>
      auth.authenticateRequest(wire),
    );
  });
}

export function matches(patterns: RegExp[], path: string): boolean {
  return patterns.some((pattern) => pattern.test(path));
}

/** Whether the agent's own code calls and needs no credential, because the agent does not authenticate users. */
export function isAgentItself(
  { auth }: Pick<AgentRequest, "auth">,
  internal: InternalCaller | null,
): boolean {
  return internal?.kind === "client" && auth === null;
}

/**
 * Returns the issuer whose tokens are withheld from the agent's code, `null` for none. An agent that authenticates its
 * users receives the tokens of all issuers. In a preview they may be credentials of the workspace, and are withheld.
 */
export function issuerAt(env: Env, { auth, isPreview }: AgentRequest): string | null {
  return auth && !isPreview ? null : env.OIDC_ISSUER || null;
}
