import type { OpenAPIHono } from "@hono/zod-openapi";
import { cors } from "hono/cors";
import type { AppEnv } from "./shared/context.ts";
import { AppError } from "./shared/errors.ts";
import { onError, router } from "./shared/http.ts";
import { threadRoutes } from "./threads/routes.ts";
import { runRoutes } from "./threads/run-routes.ts";
import { stateRoutes } from "./threads/state-routes.ts";
import { threadlessRoutes } from "./threads/threadless-routes.ts";
import { authenticate } from "./workspaces/auth.ts";

export function createApp(): OpenAPIHono<AppEnv> {
  const app = router();
  app.onError(onError);
  app.notFound((c) => onError(new AppError("not_found", "404 Not Found"), c));
  app.use(
    cors({
      origin: "*",
      exposeHeaders: ["Content-Location", "Location", "X-Pagination-Total", "X-Pagination-Next"],
    }),
  );
  app.get("/ok", (c) => c.json({ ok: true }));
  app.use("/agents/*", authenticate);
  app.route("/", threadRoutes);
  app.route("/", stateRoutes);
  app.route("/", runRoutes);
  app.route("/", threadlessRoutes);
  return app;
}
