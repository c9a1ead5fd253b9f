import { createRoute } from "@hono/zod-openapi";
import { originOf, router } from "../shared/http.ts";
import { body, bodyRefusals, ErrorDetail, json, refusals } from "../shared/schema.ts";
import { listRevisions } from "./list-service.ts";
import { RevisionsQuery } from "./query-schema.ts";
import { Revision, RevisionCreateRequest, RevisionsList } from "./revision-schema.ts";
import {
  createRevision,
  deleteRevision,
  getRevision,
  interruptRevision,
  redeployRevision,
} from "./revision-service.ts";
import { Deployment, DeploymentPath, RevisionPath } from "./schema.ts";

export const revisionRoutes = router();

const tags = ["Revisions"];
const missing = { 404: json(ErrorDetail, "No such deployment or revision in the workspace") };

const list = createRoute({
  method: "get",
  path: "/v2/deployments/{deployment_id}/revisions",
  operationId: "listRevisions",
  tags,
  summary: "List the revisions of a deployment",
  request: { params: DeploymentPath, query: RevisionsQuery },
  responses: { 200: json(RevisionsList, "A page, newest first"), ...refusals, ...missing },
});
revisionRoutes.openapi(list, async (c) => {
  const { deployment_id } = c.req.valid("param");
  return c.json(
    await listRevisions(c.var.ctx, deployment_id, c.req.valid("query"), originOf(c.req.url)),
    200,
  );
});

const get = createRoute({
  method: "get",
  path: "/v2/deployments/{deployment_id}/revisions/{revision_id}",
  operationId: "getRevision",
  tags,
  summary: "Get a revision; poll it until its status is DEPLOYED",
  request: { params: RevisionPath },
  responses: { 200: json(Revision, "The revision"), ...refusals, ...missing },
});
revisionRoutes.openapi(get, async (c) =>
  c.json(await getRevision(c.var.ctx, c.req.valid("param"), originOf(c.req.url)), 200),
);

const create = createRoute({
  method: "post",
  path: "/v2/deployments/{deployment_id}/revisions",
  operationId: "createRevision",
  tags,
  summary: "Build the deployment anew, with or without a change to its source",
  request: { params: DeploymentPath, body: body(RevisionCreateRequest) },
  responses: {
    201: json(Revision, "Created; it builds"),
    409: json(ErrorDetail, "The deployment is being deleted"),
    ...bodyRefusals,
    ...missing,
  },
});
revisionRoutes.openapi(create, async (c) => {
  const { deployment_id } = c.req.valid("param");
  const input = c.req.valid("json");
  return c.json(await createRevision(c.var.ctx, deployment_id, input, originOf(c.req.url)), 201);
});

const redeploy = {
  method: "post",
  tags,
  summary: "Serve with the code of this revision again; what was deployed before needs no build",
  request: { params: RevisionPath },
  responses: {
    200: json(Deployment, "Its latest revision is a new one of the same code"),
    400: json(ErrorDetail, "The revision still builds"),
    409: json(ErrorDetail, "The deployment is being deleted"),
    ...refusals,
    ...missing,
  },
} as const;
revisionRoutes.openapi(
  createRoute({
    ...redeploy,
    path: "/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy",
    operationId: "redeployRevision",
  }),
  async (c) =>
    c.json(await redeployRevision(c.var.ctx, c.req.valid("param"), originOf(c.req.url)), 200),
);
revisionRoutes.openapi(
  createRoute({
    ...redeploy,
    path: "/v1/projects/{deployment_id}/revisions/{revision_id}/deploy",
    operationId: "redeployProjectRevision",
  }),
  async (c) =>
    c.json(await redeployRevision(c.var.ctx, c.req.valid("param"), originOf(c.req.url)), 200),
);

const interrupt = createRoute({
  method: "post",
  path: "/v2/deployments/{deployment_id}/revisions/{revision_id}/interrupt",
  operationId: "interruptRevision",
  tags,
  summary: "End the build of a revision for good",
  request: { params: RevisionPath },
  responses: {
    200: json(Revision, "It is BUILD_FAILED, with the reason interrupted"),
    409: json(ErrorDetail, "It has ended already"),
    ...refusals,
    ...missing,
  },
});
revisionRoutes.openapi(interrupt, async (c) =>
  c.json(await interruptRevision(c.var.ctx, c.req.valid("param"), originOf(c.req.url)), 200),
);

const remove = createRoute({
  method: "delete",
  path: "/v2/deployments/{deployment_id}/revisions/{revision_id}",
  operationId: "deleteRevision",
  tags,
  summary: "Delete a revision that serves nobody, such as the preview of a merged branch",
  request: { params: RevisionPath },
  responses: {
    204: { description: "Deleted" },
    409: json(ErrorDetail, "It serves, builds, or is the latest"),
    ...refusals,
    ...missing,
  },
});
revisionRoutes.openapi(remove, async (c) => {
  await deleteRevision(c.var.ctx, c.req.valid("param"));
  return c.body(null, 204);
});
