import type { OpenAPIHono } from "@hono/zod-openapi";
import { bodyLimit } from "hono/body-limit";
import { cors } from "hono/cors";
import { createMiddleware } from "hono/factory";
import { integrationRoutes } from "./deployments/integration-routes.ts";
import { revisionRoutes } from "./deployments/revision-routes.ts";
import { deploymentRoutes } from "./deployments/routes.ts";
import { addDocs } from "./docs.ts";
import { addDocument, addSystemRoutes } from "./openapi.ts";
import type { AppEnv } from "./shared/context.ts";
import { AppError } from "./shared/errors.ts";
import { onError, onNotFound, router } from "./shared/http.ts";
import { isIngestion, toRoutePath } from "./shared/paths.ts";
import { threadRoutes } from "./threads/routes.ts";
import { runRoutes } from "./threads/run-routes.ts";
import { stateRoutes } from "./threads/state-routes.ts";
import { threadlessRoutes } from "./threads/threadless-routes.ts";
import { feedbackRoutes } from "./traces/feedback-routes.ts";
import { filterRoutes } from "./traces/filter-routes.ts";
import { ingestRoutes } from "./traces/ingest-routes.ts";
import { queryRoutes } from "./traces/query-routes.ts";
import { projectRoutes } from "./traces/routes.ts";
import { traceRunRoutes } from "./traces/run-routes.ts";
import { authenticate } from "./workspaces/auth.ts";

const MAX_BODY_BYTES = 10 * 1024 * 1024;

const EXPOSED_HEADERS = [
  "Content-Location",
  "Location",
  "X-Pagination-Total",
  "X-Pagination-Next",
  "X-Request-Id",
];

export function createApp(): OpenAPIHono<AppEnv> {
  const app = router({ getPath: toRoutePath });
  app.onError(onError);
  app.notFound(onNotFound);
  app.use(identify);
  app.use(cors({ origin: "*", exposeHeaders: EXPOSED_HEADERS }));
  app.use(limitBody);
  addSystemRoutes(app);
  app.use("/agents/*", authenticate);
  app.use("/api/v1/feedback/*", authenticate);
  app.use("/api/v1/runs/*", authenticate);
  app.use("/api/v1/sessions/*", authenticate);
  app.use("/api/v2/runs/*", authenticate);
  app.use("/v1/integrations/*", authenticate);
  app.use("/v1/projects/*", authenticate);
  app.use("/v2/deployments/*", authenticate);
  app.route("/", deploymentRoutes);
  app.route("/", revisionRoutes);
  app.route("/", integrationRoutes);
  app.route("/", threadRoutes);
  app.route("/", stateRoutes);
  app.route("/", runRoutes);
  app.route("/", threadlessRoutes);
  app.route("/", projectRoutes);
  app.route("/", ingestRoutes);
  app.route("/", traceRunRoutes);
  app.route("/", queryRoutes);
  app.route("/", feedbackRoutes);
  app.route("/", filterRoutes);
  addDocument(app);
  addDocs(app);
  return app;
}

/** Set on the response before there is one, so that it is on those made anew by a handler too. */
const identify = createMiddleware<AppEnv>(async (c, next) => {
  const request_id = crypto.randomUUID();
  c.set("request_id", request_id);
  c.res.headers.set("X-Request-Id", request_id);
  await next();
});

const limited = bodyLimit({ maxSize: MAX_BODY_BYTES, onError: refuseBody });

/** Ingestion counts for itself, what it unpacks too. */
const limitBody = createMiddleware<AppEnv>(async (c, next) => {
  if (isIngestion(c.req.method, c.req.path)) return next();
  return limited(c, next);
});

function refuseBody(): never {
  throw new AppError("too_large", `The body is larger than the ${MAX_BODY_BYTES} bytes allowed.`);
}
