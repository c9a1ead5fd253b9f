import { createRoute, z } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { body, bodyRefusals, ErrorDetail, json, refusals } from "../shared/schema.ts";
import {
  Integration,
  IntegrationCreateRequest,
  IntegrationPath,
  Repository,
} from "./integration-schema.ts";
import { createIntegration, listIntegrations } from "./integration-service.ts";
import { listRepositories } from "./repository-service.ts";

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
  summary: "Add a repository-host integration from an access token or a GitHub App",
  request: { body: body(IntegrationCreateRequest) },
  responses: {
    201: json(Integration, "Created; the token is stored encrypted"),
    ...bodyRefusals,
  },
});
integrationRoutes.openapi(create, async (c) =>
  c.json(await createIntegration(c.var.ctx, c.req.valid("json")), 201),
);

const repositories = createRoute({
  method: "get",
  path: "/v1/integrations/github/{integration_id}/repos",
  operationId: "listRepositories",
  tags,
  summary: "List the repositories that an integration may read",
  request: { params: IntegrationPath },
  responses: {
    200: json(z.array(Repository), "As the host says now"),
    400: json(ErrorDetail, "The host refuses the integration"),
    404: json(ErrorDetail, "No such integration in the workspace"),
    503: json(ErrorDetail, "The repository host cannot be reached"),
    ...refusals,
  },
});
integrationRoutes.openapi(repositories, async (c) => {
  const { integration_id } = c.req.valid("param");
  return c.json(await listRepositories(c.var.ctx, integration_id), 200);
});
