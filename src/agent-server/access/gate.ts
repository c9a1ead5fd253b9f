import type { Context as HonoContext } from "hono";
import { createMiddleware } from "hono/factory";
import { resolveCaller } from "../../control-plane/workspaces/auth.ts";
import { type Access, type AppEnv, contextFor } from "../../shared/context.ts";
import { AppError, notFound } from "../../shared/errors.ts";
import { assertAnonymousRate } from "../../shared/http/rate-limit.ts";
import {
  type AgentRequest,
  authenticate,
  isAgentItself,
  issuerAt,
  matches,
  PUBLIC_PATHS,
  resolveAgentRequest,
} from "./agent-request.ts";
import { agentServerUrl } from "./agent-urls.ts";
import { callApp } from "./app.ts";
import { type HttpSettings, httpSettings, isAppFirst, isDisabled } from "./http-settings.ts";
import {
  type InternalCaller,
  internalCallerOf,
  isOwnServer,
  routeNotFound,
} from "./internal-caller.ts";
import { parseAgentPath } from "./request.ts";
import { resolveVisitor } from "./visitor.ts";

const PATHS_WITHOUT_USER_DATA = [...PUBLIC_PATHS, /^\/ok$/, /^\/(docs(\/|$)|openapi\.json$)/];

/** Refuses internal calls outside their agent server, before authentication and on routes without it. */
export const bindInternalCalls = createMiddleware<AppEnv>(async (c, next) => {
  const internal = internalCallerOf(c.env);
  if (internal && !isOwnServer(internal, c.req.path)) throw routeNotFound();
  await next();
});

/**
 * Authenticates requests to agents: by the agent's own code when langgraph.json has `auth`, else by a credential of the
 * workspace. The agent's HTTP app, if there is one, answers instead of the routes and calls them by an internal call.
 */
export const authenticateAgentRequests = createMiddleware<AppEnv>(async (c, next) => {
  const internal = internalCallerOf(c.env);
  if (internal?.kind === "closed") throw routeNotFound();
  const agentRequest = await resolveAgentRequest(c);
  if (!agentRequest && internal)
    throw new AppError("unavailable", "The agent is temporarily unavailable.");
  if (agentRequest && internal && agentRequest.revision.deployment_id !== internal.deployment_id)
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

/**
 * Forwards the request to the agent's HTTP app, if there is one.
 * @returns `null` when the routes answer
 * @throws AppError 404 for a disabled route, and for a webhook to an agent without an app
 */
function answerBeforeRoutes(
  c: HonoContext<AppEnv>,
  agentRequest: AgentRequest,
  internal: InternalCaller | null,
): Promise<Response> | null {
  const http = httpSettings(agentRequest.revision.config);
  if (isForApp(http, internal)) return serveApp(c, { ...agentRequest, http }, internal);
  if (internal?.kind === "webhook" || isDisabled(http, agentRequest.path)) throw routeNotFound();
  return null;
}

/** Blocks a response to a user of the agent when no handler of the agent has authorized the request. */
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

/** Whether the app answers: also WebSockets, so that its middleware can refuse them. */
function isForApp({ app }: HttpSettings, internal: InternalCaller | null): boolean {
  return Boolean(app) && internal?.kind !== "builtin";
}

async function serveApp(
  c: HonoContext<AppEnv>,
  agentRequest: AgentRequest & { http: HttpSettings },
  internal: InternalCaller | null,
): Promise<Response> {
  const { revision, ref, path } = agentRequest;
  const { raw } = c.req;
  const issuer = issuerAt(c.env, agentRequest);
  const base_url = agentServerUrl(raw, c.env, ref);
  const to = { revision, base_url, path, issuer };
  const agent = { deployment_id: revision.deployment_id, ref, depth: (internal?.depth ?? 0) + 1 };
  if (internal?.kind === "webhook") {
    const { user } = internal;
    return callApp(c.env, raw, { ...to, internal: { kind: "closed", ...agent }, user });
  }
  const isFirst = isAppFirst(agentRequest.http) && !isAgentItself(agentRequest, internal);
  if (isFirst) await assertMayPreview(c, agentRequest, internal);
  const authenticated = isFirst ? null : await authenticate(c, agentRequest, internal);
  if (authenticated && authenticated.caller.workspace_id !== revision.workspace_id) {
    throw notFound("Deployment", agentRequest.ref);
  }
  if (authenticated) c.set("ctx", contextFor(c.env, authenticated.caller));
  const { user = null } = authenticated?.access ?? {};
  const visitor = isFirst ? await limitedVisitor(c, issuer) : null;
  const behind = { kind: "builtin", ...agent, authenticated, visitor } as const;
  return callApp(c.env, raw, { ...to, internal: behind, user });
}

/** Requires a credential of the workspace for a preview: the revision may have been rolled back because of its app. */
async function assertMayPreview(
  { env, req }: HonoContext<AppEnv>,
  { isPreview, revision, ref }: AgentRequest,
  internal: InternalCaller | null,
): Promise<void> {
  if (!isPreview || internal?.kind === "client") return;
  const { workspace_id } = await resolveCaller(env, req.raw.headers);
  if (workspace_id !== revision.workspace_id) throw notFound("Deployment", ref);
}

/**
 * Authenticates the visitor of an app that runs before authentication. Limits the rate of visitors without a valid
 * credential.
 */
async function limitedVisitor(c: HonoContext<AppEnv>, issuer: string | null) {
  const { headers } = c.req.raw;
  const visitor = await resolveVisitor(c.env, headers, issuer);
  if (visitor === null || !("caller" in visitor)) assertAnonymousRate(headers);
  // Lets `endWithPrincipal` check the credential, which the routes behind the app do not receive.
  else c.set("ctx", contextFor(c.env, visitor.caller));
  return visitor;
}
