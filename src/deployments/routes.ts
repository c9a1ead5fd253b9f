import { createRoute } from "@hono/zod-openapi";
import { originOf, router } from "../shared/http.ts";
import { body, bodyRefusals, ErrorDetail, json, refusals } from "../shared/schema.ts";
import { deleteDeployments } from "./bulk-service.ts";
import { listDeployments } from "./list-service.ts";
import { DeploymentIdsQuery, DeploymentsQuery } from "./query-schema.ts";
import {
  Deployment,
  DeploymentCreateRequest,
  DeploymentDeleteQuery,
  DeploymentPatchRequest,
  DeploymentPath,
  DeploymentsDeleted,
  DeploymentsList,
} from "./schema.ts";
import { createDeployment, deleteDeployment, getDeployment, updateDeployment } from "./service.ts";

export const deploymentRoutes = router();

const tags = ["Deployments"];
const missing = { 404: json(ErrorDetail, "No such deployment in the workspace") };

const create = createRoute({
  method: "post",
  path: "/v2/deployments",
  operationId: "createDeployment",
  tags,
  summary: "Create a deployment and its first revision",
  request: { body: body(DeploymentCreateRequest) },
  responses: {
    201: json(Deployment, "Created; its revision builds"),
    409: json(ErrorDetail, "The name is taken"),
    ...bodyRefusals,
  },
});
deploymentRoutes.openapi(create, async (c) =>
  c.json(await createDeployment(c.var.ctx, c.req.valid("json"), originOf(c.req.url)), 201),
);

const list = createRoute({
  method: "get",
  path: "/v2/deployments",
  operationId: "listDeployments",
  tags,
  summary: "List deployments",
  request: { query: DeploymentsQuery },
  responses: { 200: json(DeploymentsList, "A page, oldest first"), ...refusals },
});
deploymentRoutes.openapi(list, async (c) =>
  c.json(await listDeployments(c.var.ctx, c.req.valid("query"), originOf(c.req.url)), 200),
);

const get = createRoute({
  method: "get",
  path: "/v2/deployments/{deployment_id}",
  operationId: "getDeployment",
  tags,
  summary: "Get a deployment",
  request: { params: DeploymentPath },
  responses: { 200: json(Deployment, "The deployment"), ...refusals, ...missing },
});
deploymentRoutes.openapi(get, async (c) => {
  const { deployment_id } = c.req.valid("param");
  return c.json(await getDeployment(c.var.ctx, deployment_id, originOf(c.req.url)), 200);
});

const update = createRoute({
  method: "patch",
  path: "/v2/deployments/{deployment_id}",
  operationId: "updateDeployment",
  tags,
  summary: "Change a deployment; a source_revision_config makes a revision",
  request: { params: DeploymentPath, body: body(DeploymentPatchRequest) },
  responses: {
    200: json(Deployment, "The deployment as it is now"),
    409: json(ErrorDetail, "The deployment is being deleted"),
    ...bodyRefusals,
    ...missing,
  },
});
deploymentRoutes.openapi(update, async (c) => {
  const { deployment_id } = c.req.valid("param");
  const input = c.req.valid("json");
  return c.json(await updateDeployment(c.var.ctx, deployment_id, input, originOf(c.req.url)), 200);
});

const remove = createRoute({
  method: "delete",
  path: "/v2/deployments/{deployment_id}",
  operationId: "deleteDeployment",
  tags,
  summary: "Delete a deployment with its revisions and threads",
  request: { params: DeploymentPath, query: DeploymentDeleteQuery },
  responses: {
    204: { description: "Accepted; it is 404 once it is gone" },
    ...refusals,
    ...missing,
  },
});
deploymentRoutes.openapi(remove, async (c) => {
  const { deployment_id } = c.req.valid("param");
  await deleteDeployment(c.var.ctx, deployment_id, c.req.valid("query"));
  return c.body(null, 204);
});

const removeMany = createRoute({
  method: "delete",
  path: "/v2/deployments",
  operationId: "deleteDeployments",
  tags,
  summary: "Delete several deployments",
  request: { query: DeploymentIdsQuery },
  responses: {
    200: json(DeploymentsDeleted, "All accepted"),
    207: json(DeploymentsDeleted, "Some accepted; failed says which are not, and why"),
    ...refusals,
    404: json(ErrorDetail, "None of them is in the workspace"),
  },
});
deploymentRoutes.openapi(removeMany, async (c) => {
  const answer = await deleteDeployments(c.var.ctx, c.req.valid("query").deployment_ids);
  return c.json(answer, answer.failed.length === 0 ? 200 : 207);
});
