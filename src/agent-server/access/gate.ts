import type { Context as HonoContext } from "hono";
import { createMiddleware } from "hono/factory";
import {
  type ActiveRevision,
  servedRevision,
} from "../../control-plane/deployments/api/service.ts";
import {
  type Access,
  type AgentUser,
  type AppEnv,
  type Caller,
  contextFor,
} from "../../shared/context.ts";
import { AppError, notFound } from "../../shared/errors.ts";
import { assertAnonymousRate, limitFailures } from "../../shared/http/rate-limit.ts";
import { callAuth } from "./agent-auth.ts";
import { agentServerUrl } from "./agent-urls.ts";
import { callApp } from "./app.ts";
import { UserAnswer } from "./boundary.ts";
import { ANONYMOUS, agentCaller, callerOf, STUDIO_USER } from "./callers.ts";
import { type HttpSettings, httpSettings, isAppFirst, isDisabled } from "./http-settings.ts";
import {
  type AuthenticatedCaller,
  type InternalCaller,
  internalCallerOf,
  isOwnServer,
  routeNotFound,
} from "./internal-caller.ts";
import { type AgentRoute, parseAgentPath, toWireRequest } from "./request.ts";
import { toAccess } from "./service.ts";
import { type AuthSettings, authSettings } from "./settings.ts";
import { resolveCallerBehindApp, resolveVisitor } from "./visitor.ts";

type AgentRequest = AgentRoute & {
  request: Request;
  served: ActiveRevision;
  auth: AuthSettings | null;
  /** URL of a revision that is not active. Only the workspace may call it. */
  isPreview: boolean;
};

/** Clients call these before they have a token. */
const PUBLIC_PATHS = [/^\/info$/, /^\/ui(\/|$)/];
const PATHS_WITHOUT_USER_DATA = [...PUBLIC_PATHS, /^\/ok$/, /^\/(docs(\/|$)|openapi\.json$)/];

/** Refuses internal calls outside their agent server, before authentication and on routes without it. */
export const bindInternalCalls = createMiddleware<AppEnv>(async (c, next) => {
  const internal = internalCallerOf(c.env);
  if (internal && !isOwnServer(internal, c.req.path)) throw routeNotFound();
  await next();
});

/**
 * Authenticates requests to agents: by the agent's own code when langgraph.json has `auth`, else by a key of the
 * workspace. The agent's HTTP app is called next, and the routes of the server behind it.
 */
export const authenticateAgentRequests = createMiddleware<AppEnv>(async (c, next) => {
  const internal = internalCallerOf(c.env);
  if (internal?.kind === "closed") throw routeNotFound();
  const agentRequest = await resolveAgentRequest(c);
  if (!agentRequest && internal)
    throw new AppError("unavailable", "The agent is temporarily unavailable.");
  if (agentRequest && internal && agentRequest.served.deployment_id !== internal.deployment_id)
    throw routeNotFound();
  const early = agentRequest && answerBeforeRoutes(c, agentRequest, internal);
  if (early !== null) return early;
  const authenticated = internal?.kind === "builtin" ? internal.authenticated : null;
  const { caller, access } = authenticated ?? (await authenticate(c, agentRequest, internal));
  const ctx = contextFor(c.env, caller);
  c.set("ctx", access ? { ...ctx, access } : ctx);
  await next();
  await assertAuthorizationChecked(c, access);
  return;
});

/** Responds to requests for the agent's app and for disabled routes. */
function answerBeforeRoutes(
  c: HonoContext<AppEnv>,
  agentRequest: AgentRequest,
  internal: InternalCaller | null,
): Promise<Response> | null {
  const http = httpSettings(agentRequest.served.config);
  if (isForApp(http, internal)) return serveApp(c, { ...agentRequest, http }, internal);
  if (internal?.kind === "webhook" || isDisabled(http, agentRequest.path)) throw routeNotFound();
  return null;
}

/** Blocks responses to users that were not authorized by the agent's handlers. */
async function assertAuthorizationChecked(
  c: HonoContext<AppEnv>,
  access: Access | undefined,
): Promise<void> {
  if (!access?.user || access.isAuthorizationChecked || !c.res.ok) return;
  if (matches(PATHS_WITHOUT_USER_DATA, parseAgentPath(c.req.path).path)) return;
  await c.res.body?.cancel();
  throw new AppError(
    "internal",
    `${c.req.method} ${c.req.path} reached a handler without authorization`,
  );
}

/** Sockets too, so that the app's middleware can refuse them. */
function isForApp({ app }: HttpSettings, internal: InternalCaller | null): boolean {
  return Boolean(app) && internal?.kind !== "builtin";
}

async function serveApp(
  c: HonoContext<AppEnv>,
  agentRequest: AgentRequest & { http: HttpSettings },
  internal: InternalCaller | null,
): Promise<Response> {
  const { served, ref, path } = agentRequest;
  const { raw } = c.req;
  const issuer = issuerAt(c.env, agentRequest);
  const base_url = agentServerUrl(raw, c.env, ref);
  const to = { served, base_url, path, issuer };
  const agent = { deployment_id: served.deployment_id, ref, depth: (internal?.depth ?? 0) + 1 };
  if (internal?.kind === "webhook") {
    const { user } = internal;
    return callApp(c.env, raw, { ...to, internal: { kind: "closed", ...agent }, user });
  }
  const isFirst = isAppFirst(agentRequest.http) && !isAgentItself(agentRequest, internal);
  const authenticated = isFirst ? null : await authenticate(c, agentRequest, internal);
  if (authenticated && authenticated.caller.workspace_id !== served.workspace_id) {
    throw notFound("Deployment", agentRequest.ref);
  }
  if (authenticated) c.set("ctx", contextFor(c.env, authenticated.caller));
  const { user = null } = authenticated?.access ?? {};
  const visitor = isFirst ? await limitedVisitor(c, issuer) : null;
  const behind = { kind: "builtin", ...agent, authenticated, visitor } as const;
  return callApp(c.env, raw, { ...to, internal: behind, user });
}

async function limitedVisitor(c: HonoContext<AppEnv>, issuer: string | null) {
  const { headers } = c.req.raw;
  const visitor = await resolveVisitor(c.env, headers, issuer);
  if (visitor === null || !("caller" in visitor)) assertAnonymousRate(headers);
  // Lets `endWithPrincipal` check the credential, which the routes behind the app do not receive.
  else c.set("ctx", contextFor(c.env, visitor.caller));
  return visitor;
}

/** The agent's own code needs no credential where the agent has no users. */
function isAgentItself(
  { auth }: Pick<AgentRequest, "auth">,
  internal: InternalCaller | null,
): boolean {
  return internal?.kind === "client" && auth === null;
}

/** Agents that authenticate their users receive all tokens, of any issuer. */
function issuerAt(env: Env, { auth, isPreview }: AgentRequest): string | null {
  return auth && !isPreview ? null : env.OIDC_ISSUER || null;
}

async function resolveAgentRequest(c: HonoContext<AppEnv>): Promise<AgentRequest | null> {
  const place = parseAgentPath(c.req.path);
  const [deployment = ""] = place.ref.split("@");
  const serving = await servedRevision(c.env, deployment);
  const isPinned = place.ref !== deployment;
  const served = isPinned ? await servedRevision(c.env, place.ref) : serving;
  if (!served) return null;
  const isPreview = served.revision_id !== serving?.revision_id;
  const request = c.req.raw;
  return { ...place, request, served, auth: authSettings(served.config), isPreview };
}

async function authenticate(
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
  const caller = isAgent ? await agentCaller(env, agentRequest.served) : await resolve();
  return { caller, access: toAccess(agentRequest.served, null) };
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
  if (caller && caller.workspace_id !== agentRequest.served.workspace_id) return { caller };
  const user = isStudio ? STUDIO_USER : await authenticateUser(env, agentRequest);
  const access = toAccess(agentRequest.served, user);
  return { caller: caller ?? (await callerOf(env, agentRequest.served, user)), access };
}

async function authenticateUser(env: Env, agentRequest: AgentRequest): Promise<AgentUser> {
  const { headers, method } = agentRequest.request;
  if (matches(PUBLIC_PATHS, agentRequest.path) && method === "GET") {
    assertAnonymousRate(headers);
    return ANONYMOUS;
  }
  const wire = toWireRequest(agentRequest.request, agentRequest.path, issuerAt(env, agentRequest));
  return limitFailures(headers, agentRequest.served.deployment_id, (assertRate) => {
    assertRate();
    return callAuth(env, agentRequest.served, "authenticateRequest", UserAnswer, (auth) =>
      auth.authenticateRequest(wire),
    );
  });
}

function matches(patterns: RegExp[], path: string): boolean {
  return patterns.some((pattern) => pattern.test(path));
}
