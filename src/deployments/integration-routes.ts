import { createRoute, z } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { body, bodyRefusals, json, refusals } from "../shared/schema.ts";
import { Integration, IntegrationCreateRequest } from "./integration-schema.ts";
import { createIntegration, listIntegrations } from "./integration-service.ts";

export const integrationRoutes = router();

const tags = ["Integrations"];

const list = createRoute({
  method: "get",
  path: "/v1/integrations/github/install",
  operationId: "listIntegrations",
  tags,
  summary: "List repository-host integrations",
  responses: { 200: json(z.array(Integration), "All of the workspace"), ...refusals },
});
integrationRoutes.openapi(list, async (c) => c.json(await listIntegrations(c.var.ctx), 200));

const create = createRoute({
  method: "post",
  path: "/v1/integrations/github/install",
  operationId: "createIntegration",
  tags,
  summary: "Add a repository-host integration from an access token",
  request: { body: body(IntegrationCreateRequest) },
  responses: {
    201: json(Integration, "Created; the token is stored encrypted"),
    ...bodyRefusals,
  },
});
integrationRoutes.openapi(create, async (c) =>
  c.json(await createIntegration(c.var.ctx, c.req.valid("json")), 201),
);
