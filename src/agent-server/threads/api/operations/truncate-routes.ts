import { createRoute, z } from "@hono/zod-openapi";
import { AppError } from "../../../../shared/errors.ts";
import { router } from "../../../../shared/http/http.ts";
import { body, json } from "../../../../shared/schema.ts";
import { AgentPath } from "../../contract/requests/schema.ts";
import { TruncateRequest } from "./truncate-schema.ts";
import { truncate } from "./truncate-service.ts";

/**
 * Route that test suites for LangGraph's own server call before their tests. Returns 404 unless TRUNCATE_ALLOWED is
 * `true`, which it is in no region. The API reference does not have the route.
 */
export const truncateRoutes = router();

truncateRoutes.openapi(
  createRoute({
    hide: true,
    method: "post",
    path: "/agents/{deployment_id}/internal/truncate",
    request: { params: AgentPath, body: body(TruncateRequest) },
    responses: { 200: json(z.object({ ok: z.literal(true) }), "Deleted") },
  }),
  async (c) => {
    if (c.env.TRUNCATE_ALLOWED !== "true") throw new AppError("not_found", "404 Not Found");
    await truncate(c.var.ctx, c.req.valid("param").deployment_id, c.req.valid("json"));
    return c.json({ ok: true as const }, 200);
  },
);
