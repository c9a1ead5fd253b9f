import { createRoute } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { body, bodyRefusals, ErrorDetail, json, refusals } from "../shared/schema.ts";
import { LogPage, LogQuery } from "./log-schema.ts";
import { listBuildLogs } from "./log-service.ts";
import { getRevision, listRevisions } from "./revision-service.ts";
import { DeploymentPath, Revision, RevisionPath, RevisionsList, RevisionsQuery } from "./schema.ts";

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
  return c.json(await listRevisions(c.var.ctx, deployment_id, c.req.valid("query")), 200);
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
  c.json(await getRevision(c.var.ctx, c.req.valid("param")), 200),
);

const logs = createRoute({
  method: "post",
  path: "/v1/projects/{deployment_id}/revisions/{revision_id}/build_logs",
  operationId: "listBuildLogs",
  tags,
  summary: "Read the log of a build",
  request: { params: RevisionPath, body: body(LogQuery) },
  responses: { 200: json(LogPage, "A page of lines"), ...bodyRefusals, ...missing },
});
revisionRoutes.openapi(logs, async (c) =>
  c.json(await listBuildLogs(c.var.ctx, c.req.valid("param"), c.req.valid("json")), 200),
);
