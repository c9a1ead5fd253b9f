import { originOf, router } from "../../../shared/http/http.ts";
import { warningHeader, warningHeaders } from "../../../shared/http/warnings.ts";
import { body, ErrorDetail, json, operationWithTag } from "../../../shared/schema.ts";
import { warningOf } from "../answers.ts";
import {
  Deployment,
  DeploymentCreateRequest,
  DeploymentDeleteQuery,
  DeploymentDeletion,
  DeploymentPatchRequest,
  DeploymentPath,
  DeploymentsList,
} from "../schema.ts";
import { deleteDeployments } from "./bulk-service.ts";
import { listDeployments } from "./list-service.ts";
import { DeploymentIdsQuery, DeploymentsQuery } from "./query-schema.ts";
import { createDeployment, deleteDeployment, getDeployment } from "./service.ts";
import { DeploymentStats, DeploymentStatsQuery } from "./stats-schema.ts";
import { getDeploymentStats } from "./stats-service.ts";
import { updateDeployment } from "./update-service.ts";

export const deploymentRoutes = router();

const operation = operationWithTag("Deployments");

const warning = warningHeaders("`build_on_push` has no effect without an integration");

const create = operation("post", "/v2/deployments", "createDeployment", {
  summary: "Create a deployment",
  description: "Also creates its first revision and starts the build.",
  request: { body: body(DeploymentCreateRequest) },
  responses: {
    201: { ...json(Deployment, "The deployment. Its first revision is building"), ...warning },
    409: json(ErrorDetail, "The name is taken"),
  },
});
deploymentRoutes.openapi(create, async (c) => {
  const made = await createDeployment(c.var.ctx, c.req.valid("json"), originOf(c.req.url));
  return c.json(made, 201, warningHeader(warningOf(made)));
});

const list = operation("get", "/v2/deployments", "listDeployments", {
  summary: "List deployments",
  description:
    "The oldest first, after a deployment whose full name is `name_contains`. Deployments that are being deleted are listed on request only.",
  request: { query: DeploymentsQuery },
  responses: { 200: json(DeploymentsList, "Page of items, oldest first") },
});
deploymentRoutes.openapi(list, async (c) =>
  c.json(await listDeployments(c.var.ctx, c.req.valid("query"), originOf(c.req.url)), 200),
);

const get = operation("get", "/v2/deployments/{deployment_id}", "getDeployment", {
  summary: "Get a deployment",
  description: "With its newest and its active revision. Values of secrets are never returned.",
  request: { params: DeploymentPath },
  responses: { 200: json(Deployment, "The deployment") },
});
deploymentRoutes.openapi(get, async (c) => {
  const { deployment_id } = c.req.valid("param");
  return c.json(await getDeployment(c.var.ctx, deployment_id, originOf(c.req.url)), 200);
});

const stats = operation("get", "/v2/deployments/{deployment_id}/stats", "getDeploymentStats", {
  summary: "Get the figures of each revision",
  description: "Runs, errors and latencies of each revision, counted from the traces of its runs.",
  request: { params: DeploymentPath, query: DeploymentStatsQuery },
  responses: { 200: json(DeploymentStats, "Figures by revision") },
});
deploymentRoutes.openapi(stats, async (c) => {
  const { deployment_id } = c.req.valid("param");
  return c.json(await getDeploymentStats(c.var.ctx, deployment_id, c.req.valid("query")), 200);
});

const update = operation("patch", "/v2/deployments/{deployment_id}", "updateDeployment", {
  summary: "Update a deployment",
  description:
    "A `source_revision_config` creates a revision and starts a build. Changed secrets create a revision too.",
  request: { params: DeploymentPath, body: body(DeploymentPatchRequest) },
  responses: {
    200: { ...json(Deployment, "The updated deployment"), ...warning },
    409: json(ErrorDetail, "The deployment is being deleted"),
  },
});
deploymentRoutes.openapi(update, async (c) => {
  const { deployment_id } = c.req.valid("param");
  const input = c.req.valid("json");
  const updated = await updateDeployment(c.var.ctx, deployment_id, input, originOf(c.req.url));
  return c.json(updated, 200, warningHeader(warningOf(updated)));
});

const remove = operation("delete", "/v2/deployments/{deployment_id}", "deleteDeployment", {
  summary: "Delete a deployment",
  description: "Deletes its revisions and threads too, in the background.",
  request: { params: DeploymentPath, query: DeploymentDeleteQuery },
  responses: {
    204: { description: "The deletion has begun. It is complete when `getDeployment` returns 404" },
  },
});
deploymentRoutes.openapi(remove, async (c) => {
  const { deployment_id } = c.req.valid("param");
  await deleteDeployment(c.var.ctx, deployment_id, c.req.valid("query"));
  return c.body(null, 204);
});

const removeMany = operation("delete", "/v2/deployments", "deleteDeployments", {
  summary: "Delete several deployments",
  description:
    "Each one as `DELETE /v2/deployments/{deployment_id}` does. The answer names those that were not deleted, with the reason.",
  request: { query: DeploymentIdsQuery },
  responses: {
    200: json(DeploymentDeletion, "The deletion of all deployments has begun"),
    207: json(
      DeploymentDeletion,
      "The deletion of some deployments has begun. `failed` lists the others",
    ),
    404: json(ErrorDetail, "None of the deployments exists in this workspace"),
  },
});
deploymentRoutes.openapi(removeMany, async (c) => {
  const answer = await deleteDeployments(c.var.ctx, c.req.valid("query").deployment_ids);
  return c.json(answer, answer.failed.length === 0 ? 200 : 207);
});
