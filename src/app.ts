import type { OpenAPIHono } from "@hono/zod-openapi";
import { bodyLimit } from "hono/body-limit";
import { createMiddleware } from "hono/factory";
import { requestId } from "hono/request-id";
import { addAgentDocs } from "./agent-docs.ts";
import { isAgentHost } from "./agent-server/access/agent-urls.ts";
import { guardOrigin, sandboxAgents } from "./agent-server/access/app-response.ts";
import { crossOrigin } from "./agent-server/access/cors.ts";
import { authenticateAgentRequests, bindInternalCalls } from "./agent-server/access/gate.ts";
import { uiFileRoutes } from "./agent-server/ui/routes.ts";
import { addConsole } from "./console-pages.ts";
import { callbackRoutes } from "./control-plane/oauth/authorizations/callback-routes.ts";
import { audit } from "./control-plane/workspaces/audit/audit.ts";
import { authenticate } from "./control-plane/workspaces/auth.ts";
import { configurationProblem } from "./control-plane/workspaces/configuration.ts";
import { endWithPrincipal } from "./control-plane/workspaces/revocation.ts";
import { sessionRoutes } from "./control-plane/workspaces/session/session-routes.ts";
import { readSession } from "./control-plane/workspaces/session-token.ts";
import { addDocs } from "./docs.ts";
import { notFoundHandler, onError } from "./error-responses.ts";
import { addDocument, addSystemRoutes, documentOf } from "./openapi.ts";
import { isIngestion, isUpload, toRoutePath } from "./paths.ts";
import { PUBLIC_TRACE_ROUTERS, ROUTERS } from "./routers.ts";
import type { AppEnv } from "./shared/context.ts";
import { AppError } from "./shared/errors.ts";
import { router } from "./shared/http/http.ts";
import { methodFinder, operationFinder } from "./shared/http/operations.ts";
import { assertAnonymousRate, assertRate } from "./shared/http/rate-limit.ts";
import { isUpgrade, withCredential } from "./shared/http/sockets.ts";
import { log } from "./shared/log.ts";

const MAX_BODY_BYTES = 10 * 1024 * 1024;
/** Callers cannot choose the request id: the audit log names it. */
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

/** The control plane and exports: few requests, each of which matters. */
const CONTROLLED = [
  "/api/v1/api-key/*",
  "/api/v1/bulk-exports/*",
  "/api/v1/orgs/*",
  "/api/v1/workspaces/*",
  "/v1/audit-logs/*",
  "/v1/integrations/*",
  "/v1/interrupts",
  "/v1/projects/*",
  "/v1/run-webhooks/*",
  "/v2/auth/*",
  "/v2/deployments/*",
  "/v2/listeners/*",
];

/** Room for log queries and for the polls of a CI with many jobs. */
const CONTROL_READ = { name: "control_read", calls: 3000, in_s: 60 };
const CONTROL_WRITE = { name: "control_write", calls: 600, in_s: 60 };

/** Paths whose changes are audited. Threads, ingested runs and feedback are traffic. */
const AUDITED = [
  ...CONTROLLED,
  "/api/v1/runs/:run_id/share",
  "/api/v1/runs/delete",
  "/api/v1/sessions/*",
  "/api/v2/runs/:run_id/share",
];

/** Routes without a caller that cost a query or more. Those of agents' apps are limited by the gate. */
const ANONYMOUS = [
  "/agents/:deployment_id/docs/*",
  "/agents/:deployment_id/openapi.json",
  "/agents/:deployment_id/ui/:agent/:file",
  "/api/v1/attachments/*",
  "/api/v1/feedback/tokens/*",
  "/api/v1/public/*",
  "/api/v2/public/*",
  "/public/*",
  "/uploads/*",
  "/v1/me",
  "/v1/session",
  "/v1/session/*",
  "/v2/auth/callback/*",
  "/v2/auth/setup/*",
  "/webhooks/*",
];

/** Paths that need a caller. Routes before them are public. */
const GUARDED = [
  ...CONTROLLED,
  "/api/v1/feedback/*",
  "/api/v1/runs/*",
  "/api/v1/sessions/*",
  "/api/v2/runs/*",
  "/api/v2/threads/*",
  "/api/v2/traces/*",
];

export function createApp(): OpenAPIHono<AppEnv> {
  const app = router({ getPath: toRoutePath });
  app.onError(onError);
  app.notFound(notFoundHandler(methodFinder(app)));
  app.use(requestId({ limitLength: ACCEPTED_ID_CHARACTERS }));
  app.use(bindInternalCalls);
  app.use(guardOrigin);
  app.use(crossOrigin(EXPOSED_HEADERS));
  app.use(assertConfigured);
  app.use(limitBody);
  app.use(readOwnSession);
  addSystemRoutes(app);
  for (const path of ANONYMOUS) app.use(path, limitAnonymous);
  app.route("/", callbackRoutes);
  app.route("/", sessionRoutes);
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
  const problem = configurationProblem(c.env);
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

/** Cookies on the host name of an agent are the agent's. */
const readOwnSession = createMiddleware<AppEnv>((c, next) =>
  isAgentHost(c.req.raw, c.env) ? next() : readSession(c, next),
);

const readCredential = createMiddleware<AppEnv>(async (c, next) => {
  if (isUpgrade(c.req.raw)) c.req.raw = withCredential(c.req.raw);
  await next();
});

const limited = bodyLimit({ maxSize: MAX_BODY_BYTES, onError: refuseBody });

/** Ingestion and uploads have their own body limits. */
const limitBody = createMiddleware<AppEnv>(async (c, next) => {
  const { method, path } = c.req;
  if (isIngestion(method, path) || isUpload(method, path)) return next();
  return limited(c, next);
});

function refuseBody(): never {
  throw new AppError(
    "too_large",
    `The body has more than ${MAX_BODY_BYTES} bytes: send a smaller one.`,
  );
}
