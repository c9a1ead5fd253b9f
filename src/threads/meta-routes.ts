import { createRoute } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { json } from "../shared/schema.ts";
import { Info, Ok, SERVICE_INFO } from "../shared/version.ts";
import { agentErrors } from "./errors-schema.ts";
import { AgentPath } from "./schema.ts";
import { openAgent } from "./service.ts";

export const metaRoutes = router();

metaRoutes.openapi(
  createRoute({
    method: "get",
    path: "/agents/{deployment_id}/ok",
    operationId: "agentOk",
    tags: ["System"],
    summary: "Whether an agent serves",
    request: { params: AgentPath },
    responses: { 200: json(Ok, "It does"), ...agentErrors },
  }),
  async (c) => {
    await openAgent(c.var.ctx, c.req.valid("param").deployment_id, "read");
    return c.json({ ok: true as const }, 200);
  },
);

metaRoutes.openapi(
  createRoute({
    method: "get",
    path: "/agents/{deployment_id}/info",
    operationId: "agentInfo",
    tags: ["System"],
    summary: "The version of an agent's server, and what it can do",
    request: { params: AgentPath },
    responses: { 200: json(Info, "Version and flags"), ...agentErrors },
  }),
  async (c) => {
    await openAgent(c.var.ctx, c.req.valid("param").deployment_id, "read");
    return c.json(SERVICE_INFO, 200);
  },
);
