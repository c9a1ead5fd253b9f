import { z } from "@hono/zod-openapi";
import { router } from "../../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag } from "../../../shared/schema.ts";
import {
  Integration,
  IntegrationCreateRequest,
  IntegrationPatchRequest,
  IntegrationPath,
  Repository,
} from "./integration-schema.ts";
import {
  createIntegration,
  deleteIntegration,
  listIntegrations,
  updateIntegration,
} from "./integration-service.ts";
import { listRepositories } from "./repository-service.ts";

export const integrationRoutes = router();

const operation = operationWithTag("Integrations");
const NAME_TAKEN = json(ErrorDetail, "The name is taken");

/** Published clients list the integrations of a second GitHub App, "Forge", below separate paths. */
for (const [path, operationId] of [
  ["/v1/integrations/github/install", "listIntegrations"],
  ["/v1/integrations/forge/github/install", "listForgeIntegrations"],
] as const) {
  const list = operation("get", path, operationId, {
    summary: "List integrations",
    description: "Credentials for repository hosts.",
    responses: { 200: json(z.array(Integration), "All integrations of the workspace") },
  });
  integrationRoutes.openapi(list, async (c) => c.json(await listIntegrations(c.var.ctx), 200));
}

const create = operation("post", "/v1/integrations/github/install", "createIntegration", {
  summary: "Create an integration",
  description: "Stores an access token of a repository host, or the credentials of a GitHub App.",
  request: { body: body(IntegrationCreateRequest) },
  responses: {
    201: json(Integration, "The integration. Its credentials are stored encrypted"),
    409: NAME_TAKEN,
  },
});
integrationRoutes.openapi(create, async (c) =>
  c.json(await createIntegration(c.var.ctx, c.req.valid("json")), 201),
);

const update = operation("patch", "/v1/integrations/github/{integration_id}", "updateIntegration", {
  summary: "Update an integration",
  description: "Renames it, or replaces its credentials, such as a token that has expired.",
  request: { params: IntegrationPath, body: body(IntegrationPatchRequest) },
  responses: {
    200: json(Integration, "The integration. The next build uses the new credentials"),
    409: NAME_TAKEN,
  },
});
integrationRoutes.openapi(update, async (c) => {
  const { integration_id } = c.req.valid("param");
  return c.json(await updateIntegration(c.var.ctx, integration_id, c.req.valid("json")), 200);
});

const remove = operation(
  "delete",
  "/v1/integrations/github/{integration_id}",
  "deleteIntegration",
  {
    summary: "Delete an integration",
    description: "Deletes its credentials too.",
    request: { params: IntegrationPath },
    responses: {
      204: { description: "Deleted" },
      409: json(ErrorDetail, "A deployment uses the integration"),
    },
  },
);
integrationRoutes.openapi(remove, async (c) => {
  await deleteIntegration(c.var.ctx, c.req.valid("param").integration_id);
  return c.body(null, 204);
});

for (const [path, operationId] of [
  ["/v1/integrations/github/{integration_id}/repos", "listRepositories"],
  ["/v1/integrations/forge/github/{integration_id}/repos", "listForgeRepositories"],
] as const) {
  const repositories = operation("get", path, operationId, {
    summary: "List repositories",
    description: "Repositories that an integration can read, of the first 10 pages of the host.",
    request: { params: IntegrationPath },
    responses: {
      200: json(z.array(Repository), "Repositories that the host returned"),
      400: json(ErrorDetail, "The host refused the credentials"),
      404: json(ErrorDetail, "The integration does not exist in this workspace"),
      503: json(ErrorDetail, "The repository host did not respond"),
    },
  });
  integrationRoutes.openapi(repositories, async (c) => {
    const { integration_id } = c.req.valid("param");
    return c.json(await listRepositories(c.var.ctx, integration_id), 200);
  });
}
