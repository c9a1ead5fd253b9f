import type { OpenAPIHono } from "@hono/zod-openapi";
import { createMiddleware } from "hono/factory";
import { requestId } from "hono/request-id";
import { isAgentHost } from "./agent-server/access/agent-urls.ts";
import { guardOrigin, sandboxAgents } from "./agent-server/access/app-response.ts";
import { crossOrigin } from "./agent-server/access/cors.ts";
import { authenticateAgentRequests, bindInternalCalls } from "./agent-server/access/gate.ts";
import { internalCallerOf } from "./agent-server/access/internal-caller.ts";
import { uiFileRoutes } from "./agent-server/ui/routes.ts";
import { addConsole } from "./console-pages.ts";
import { healthRoutes } from "./control-plane/health/health-routes.ts";
import { regionMetricsRoutes } from "./control-plane/health/region-metrics-routes.ts";
import { measureRequests } from "./control-plane/health/request-metrics.ts";
import { callbackRoutes } from "./control-plane/oauth/authorizations/callback-routes.ts";
import { audit } from "./control-plane/workspaces/audit/audit.ts";
import { authenticate } from "./control-plane/workspaces/auth.ts";
import { configurationProblem } from "./control-plane/workspaces/configuration.ts";
import { invitationRoutes } from "./control-plane/workspaces/invitations/invitation-routes.ts";
import { endWithPrincipal } from "./control-plane/workspaces/revocation.ts";
import { sessionRoutes } from "./control-plane/workspaces/session/session-routes.ts";
import { acceptSessionCookie, assertNoSession } from "./control-plane/workspaces/session-token.ts";
import { notFoundHandler, onError } from "./error-responses.ts";
import { addAgentDocs } from "./openapi/agent-docs.ts";
import { addDocs } from "./openapi/docs.ts";
import { addDocument, addSystemRoutes, documentOf } from "./openapi/openapi.ts";
import {
  ANONYMOUS,
  AUDITED,
  CONTROLLED,
  GUARDED,
  isUnauthenticated,
  isUpload,
  toRoutePath,
} from "./paths.ts";
import { PUBLIC_TRACE_ROUTERS, ROUTERS } from "./routers.ts";
import type { AppEnv } from "./shared/context.ts";
import { AppError } from "./shared/errors.ts";
import { AdmittedBody, holdBody, NOTHING, tooLarge } from "./shared/http/body.ts";
import { router } from "./shared/http/http.ts";
import { methodFinder, operationFinder } from "./shared/http/operations.ts";
import { assertAnonymousRate, assertRate } from "./shared/http/rate-limit.ts";
import { isUpgrade, withCredential } from "./shared/http/sockets.ts";
import { log } from "./shared/log.ts";
import { retentionProblem } from "./traces/catalogue/retention.ts";
import { isIngestion, isOtlp } from "./traces/ingest/ingestion-paths.ts";

const MAX_BODY_BYTES = 10 * 1024 * 1024;
/**
 * Bodies up to this size are not counted: no isolate has enough of them to fill its memory. Larger ones are refused where
 * `isUnauthenticated` holds.
 */
const SMALL_BODY_BYTES = 256 * 1024;
/** Clients cannot choose the request id, because the audit log names it. */
const ACCEPTED_ID_CHARACTERS = 0;

const EXPOSED_HEADERS = [
  "Content-Location",
  "Location",
  "X-Heddle-Warning",
  "X-Pagination-Total",
  "X-Pagination-Next",
  "X-Request-Id",
  "X-Token-Revocation",
  "Retry-After",
];

/** Rates of one principal for the control plane, with room for log queries and for the polls of a CI with many jobs. */
const CONTROL_READ = { name: "control_read", calls: 3000, in_s: 60 };
const CONTROL_WRITE = { name: "control_write", calls: 600, in_s: 60 };

export function createApp(): OpenAPIHono<AppEnv> {
  const app = router({ getPath: toRoutePath });
  app.onError(onError);
  app.notFound(notFoundHandler(methodFinder(app)));
  app.use(measureRequests((method, path) => isIngestion(method, path) || isOtlp(path)));
  app.use(requestId({ limitLength: ACCEPTED_ID_CHARACTERS }));
  app.use(bindInternalCalls);
  app.use(guardOrigin);
  app.use(crossOrigin(EXPOSED_HEADERS));
  app.use(assertConfigured);
  app.use(releaseBody);
  app.use(limitBody);
  app.use(readOwnSession);
  addSystemRoutes(app);
  for (const path of ANONYMOUS) app.use(path, limitAnonymous);
  app.route("/", healthRoutes);
  app.route("/", regionMetricsRoutes);
  app.route("/", callbackRoutes);
  app.route("/", sessionRoutes);
  app.route("/", invitationRoutes);
  for (const routes of PUBLIC_TRACE_ROUTERS) app.route("/", routes);
  const document = documentOf(app);
  addAgentDocs(app, document, "before the gate");
  app.use("/agents/*", sandboxAgents);
  app.route("/", uiFileRoutes);
  app.use("/agents/*", readCredential);
  app.use(endWithPrincipal);
  for (const path of GUARDED) app.use(path, authenticate);
  app.use("/agents/*", authenticateAgentRequests);
  for (const path of CONTROLLED) app.use(path, limitRate);
  const audited = audit(operationFinder(app));
  for (const path of AUDITED) app.use(path, audited);
  for (const routes of ROUTERS) app.route("/", routes);
  addAgentDocs(app, document, "behind it");
  addDocument(app, document);
  addDocs(app);
  addConsole(app);
  return app;
}

const limitRate = createMiddleware<AppEnv>(async (c, next) => {
  assertRate(c.var.ctx, c.req.method === "GET" ? CONTROL_READ : CONTROL_WRITE);
  await next();
});

/** The Worker has no start-up at which it could fail, so an unsafe configuration fails each request. */
const assertConfigured = createMiddleware<AppEnv>(async (c, next) => {
  const problem = configurationProblem(c.env) ?? retentionProblem(c.env);
  if (problem !== null) {
    log.error("configuration_refused", problem);
    throw new AppError("unavailable", problem);
  }
  await next();
});

const limitAnonymous = createMiddleware<AppEnv>(async (c, next) => {
  assertAnonymousRate(c.req.raw.headers);
  await next();
});

/** Reads the session cookie, except on the host name of an agent: cookies there belong to the agent. */
const readOwnSession = createMiddleware<AppEnv>((c, next) => {
  // An internal call has the credential of the request that caused it, which may be a session.
  if (internalCallerOf(c.env) === null) assertNoSession(c.req.raw.headers);
  return isAgentHost(c.req.raw, c.env) ? next() : acceptSessionCookie(c, next);
});

const readCredential = createMiddleware<AppEnv>(async (c, next) => {
  const changed = isUpgrade(c.req.raw) ? withCredential(c.req.raw) : c.req.raw;
  if (changed !== c.req.raw) assertNoSession(changed.headers);
  c.req.raw = changed;
  await next();
});

/**
 * Releases the parsed body when the response begins: handlers have read it, and an event stream would hold it for hours.
 */
const releaseBody = createMiddleware<AppEnv>(async ({ req }, next) => {
  await next();
  req.bodyCache = {};
  req.addValidatedData("json", {});
});

/**
 * Reads large bodies only while the isolate has memory for them. Their bytes count until the response begins, or the
 * consumer of the body pauses for long. Ingestion and uploads have other limits.
 */
const limitBody = createMiddleware<AppEnv>(async (c, next) => {
  const { method, path, raw } = c.req;
  if (isIngestion(method, path) || isOtlp(path) || isUpload(method, path)) return next();
  const length = Number(raw.headers.get("Content-Length") ?? Number.NaN);
  if (raw.body === null || length <= SMALL_BODY_BYTES) return next();
  const max_bytes = isUnauthenticated(path) ? SMALL_BODY_BYTES : MAX_BODY_BYTES;
  if (length > max_bytes) throw tooLarge(max_bytes);
  const { body } = raw;
  const isCounted = ["builtin", "webhook"].includes(internalCallerOf(c.env)?.kind ?? "");
  await holdBody(async (reserve, release) => {
    // The work that calls the routes behind an agent's app, or delivers a webhook, has counted the bytes already. Counted
    // twice, the call could wait for memory that this work holds while it waits for the call.
    const read = new AdmittedBody(body, max_bytes, isCounted ? NOTHING : reserve, release);
    c.req.raw = new Request(raw, { body: read.stream });
    await next();
    read.end();
    if (read.failure !== null) throw read.failure;
  });
});
