import { z } from "@hono/zod-openapi";
import { router } from "../../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag } from "../../../shared/schema.ts";
import {
  Integration,
  IntegrationCreateRequest,
  IntegrationPath,
  Repository,
} from "./integration-schema.ts";
import { createIntegration, listIntegrations } from "./integration-service.ts";
import { listRepositories } from "./repository-service.ts";

export const integrationRoutes = router();

const operation = operationWithTag("Integrations");

const list = operation("get", "/v1/integrations/github/install", "listIntegrations", {
  summary: "List integrations",
  description: "Credentials for repository hosts.",
  responses: { 200: json(z.array(Integration), "All integrations of the workspace") },
});
integrationRoutes.openapi(list, async (c) => c.json(await listIntegrations(c.var.ctx), 200));

const create = operation("post", "/v1/integrations/github/install", "createIntegration", {
  summary: "Create an integration",
  description: "Stores an access token of a repository host, or the credentials of a GitHub App.",
  request: { body: body(IntegrationCreateRequest) },
  responses: {
    201: json(Integration, "The integration. Its credentials are stored encrypted"),
  },
});
integrationRoutes.openapi(create, async (c) =>
  c.json(await createIntegration(c.var.ctx, c.req.valid("json")), 201),
);

const repositories = operation(
  "get",
  "/v1/integrations/github/{integration_id}/repos",
  "listRepositories",
  {
    summary: "List repositories",
    description: "Repositories that an integration can read.",
    request: { params: IntegrationPath },
    responses: {
      200: json(z.array(Repository), "Repositories that the host returned"),
      400: json(ErrorDetail, "The host refused the credentials"),
      404: json(ErrorDetail, "The integration does not exist in this workspace"),
      503: json(ErrorDetail, "The repository host did not respond"),
    },
  },
);
integrationRoutes.openapi(repositories, async (c) => {
  const { integration_id } = c.req.valid("param");
  return c.json(await listRepositories(c.var.ctx, integration_id), 200);
});
