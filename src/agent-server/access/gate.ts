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
import { agentServerUrl } from "../../shared/http/paths.ts";
import { assertAnonymousRate, limitFailures } from "../../shared/http/rate-limit.ts";
import { askAuth } from "./agent-auth.ts";
import { callApp } from "./app.ts";
import { UserAnswer } from "./boundary.ts";
import { agentCaller, callerOf, NOBODY, STUDIO_USER } from "./callers.ts";
import { type HttpSettings, httpSettings, isAppFirst, isDisabled } from "./http-settings.ts";
import { type Admitted, type Inner, innerOf, isOwnServer, notHere } from "./inner.ts";
import { type AgentPlace, placeOf, toWireRequest } from "./request.ts";
import { toAccess } from "./service.ts";
import { type AuthSettings, authSettings } from "./settings.ts";
import { resolveCallerBehindApp, resolveVisitor } from "./visitor.ts";

type Door = AgentPlace & {
  request: Request;
  served: ActiveRevision;
  auth: AuthSettings | null;
  /** The URL of a revision that is not the one which serves: only the workspace may try it. */
  isPreview: boolean;
};

/** What says who it is to nobody: clients ask before they have a token. */
const OPEN = [/^\/info$/, /^\/ui(\/|$)/];
/** What has nothing of a user's in its answer. */
const UNASKED = [...OPEN, /^\/ok$/, /^\/(docs(\/|$)|openapi\.json$)/];

/** Refuses internal calls outside their agent server, before authentication and on routes without it. */
export const bindInternalCalls = createMiddleware<AppEnv>(async (c, next) => {
  const inner = innerOf(c.env);
  if (inner && !isOwnServer(inner, c.req.path)) throw notHere();
  await next();
});

/**
 * Every request to an agent comes through here. Where langgraph.json names no `auth`, whoever has a key of
 * the workspace may come in; where it does, whom the agent's own code lets in, and nobody else. The agent's
 * HTTP app, if it has one, is next; the routes of the server are behind it.
 */
export const admit = createMiddleware<AppEnv>(async (c, next) => {
  const inner = innerOf(c.env);
  if (inner?.kind === "closed") throw notHere();
  const door = await openDoor(c);
  if (!door && inner) throw new AppError("unavailable", "The agent does not serve for the moment.");
  if (door && inner && door.served.deployment_id !== inner.deployment_id) throw notHere();
  const elsewhere = door && answerElsewhere(c, door, inner);
  if (elsewhere) return elsewhere;
  const admitted = inner?.kind === "builtin" ? inner.admitted : null;
  const { caller, access } = admitted ?? (await letIn(c, door, inner));
  const ctx = contextFor(c.env, caller);
  c.set("ctx", access ? { ...ctx, access } : ctx);
  await next();
  await assertAsked(c, access);
  return;
});

/** What the routes of the server do not answer, or not yet. */
function answerElsewhere(
  c: HonoContext<AppEnv>,
  door: Door,
  inner: Inner | null,
): Promise<Response> | null {
  const http = httpSettings(door.served.config);
  if (isForApp(http, inner)) return serveApp(c, { ...door, http }, inner);
  if (inner?.kind === "webhook" || isDisabled(http, door.path)) throw notHere();
  return null;
}

/** What a route answers a user without asking the agent's handlers never leaves. */
async function assertAsked(c: HonoContext<AppEnv>, access: Access | undefined): Promise<void> {
  if (!access?.user || access.wasAsked || !c.res.ok) return;
  if (matches(UNASKED, placeOf(c.req.path).path)) return;
  await c.res.body?.cancel();
  throw new AppError("internal", `${c.req.method} ${c.req.path} asked nobody whether it may`);
}

/** Sockets too: a middleware that lets some in and others not must be asked, whatever a request's headers say. */
function isForApp({ app }: HttpSettings, inner: Inner | null): boolean {
  return Boolean(app) && inner?.kind !== "builtin";
}

async function serveApp(
  c: HonoContext<AppEnv>,
  door: Door & { http: HttpSettings },
  inner: Inner | null,
): Promise<Response> {
  const { served, ref, path } = door;
  const { raw } = c.req;
  const issuer = issuerAt(c.env, door);
  const base_url = agentServerUrl(raw, c.env, ref);
  const to = { served, base_url, path, issuer };
  const agent = { deployment_id: served.deployment_id, ref, depth: (inner?.depth ?? 0) + 1 };
  if (inner?.kind === "webhook") {
    const { user } = inner;
    return callApp(c.env, raw, { ...to, inner: { kind: "closed", ...agent }, user });
  }
  const isFirst = isAppFirst(door.http) && !isAgentItself(door, inner);
  const admitted = isFirst ? null : await letIn(c, door, inner);
  if (admitted && admitted.caller.workspace_id !== served.workspace_id) {
    throw notFound("Deployment", door.ref);
  }
  if (admitted) c.set("ctx", contextFor(c.env, admitted.caller));
  const { user = null } = admitted?.access ?? {};
  const visitor = isFirst ? await limitedVisitor(c, issuer) : null;
  const behind = { kind: "builtin", ...agent, admitted, visitor } as const;
  return callApp(c.env, raw, { ...to, inner: behind, user });
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
function isAgentItself({ auth }: Pick<Door, "auth">, inner: Inner | null): boolean {
  return inner?.kind === "client" && auth === null;
}

/** Where users are the agent's own, so are their tokens, whoever issues them. */
function issuerAt(env: Env, { auth, isPreview }: Door): string | null {
  return auth && !isPreview ? null : env.OIDC_ISSUER || null;
}

async function openDoor(c: HonoContext<AppEnv>): Promise<Door | null> {
  const place = placeOf(c.req.path);
  const [deployment = ""] = place.ref.split("@");
  const serving = await servedRevision(c.env, deployment);
  const isPinned = place.ref !== deployment;
  const served = isPinned ? await servedRevision(c.env, place.ref) : serving;
  if (!served) return null;
  const isPreview = served.revision_id !== serving?.revision_id;
  const request = c.req.raw;
  return { ...place, request, served, auth: authSettings(served.config), isPreview };
}

async function letIn(
  { env, req }: HonoContext<AppEnv>,
  door: Door | null,
  inner: Inner | null,
): Promise<Admitted> {
  const visitor = inner?.kind === "builtin" ? inner.visitor : null;
  const resolve = () => resolveCallerBehindApp(env, req.raw.headers, visitor);
  if (!door) return { caller: await resolve() };
  if (door.auth) return letInUser(env, { ...door, auth: door.auth }, resolve);
  const isAgent = isAgentItself(door, inner);
  const caller = isAgent ? await agentCaller(env, door.served) : await resolve();
  return { caller, access: toAccess(door.served, null) };
}

async function letInUser(
  env: Env,
  door: Door & { auth: AuthSettings },
  resolve: () => Promise<Caller>,
): Promise<Admitted> {
  const isStudio =
    door.auth.allows_studio && door.request.headers.get("x-auth-scheme") === "langsmith";
  const caller = isStudio || door.isPreview ? await resolve() : null;
  // Of another workspace: nothing here is theirs, and the routes say so.
  if (caller && caller.workspace_id !== door.served.workspace_id) return { caller };
  const user = isStudio ? STUDIO_USER : await authenticateUser(env, door);
  const access = toAccess(door.served, user);
  return { caller: caller ?? (await callerOf(env, door.served, user)), access };
}

async function authenticateUser(env: Env, door: Door): Promise<AgentUser> {
  const { headers, method } = door.request;
  if (matches(OPEN, door.path) && method === "GET") {
    assertAnonymousRate(headers);
    return NOBODY;
  }
  const wire = toWireRequest(door.request, door.path, issuerAt(env, door));
  return limitFailures(headers, door.served.deployment_id, (assertRate) => {
    assertRate();
    return askAuth(env, door.served, "authenticateRequest", UserAnswer, (auth) =>
      auth.authenticateRequest(wire),
    );
  });
}

function matches(patterns: RegExp[], path: string): boolean {
  return patterns.some((pattern) => pattern.test(path));
}
