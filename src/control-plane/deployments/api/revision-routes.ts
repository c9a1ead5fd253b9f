import { originOf, router } from "../../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag } from "../../../shared/schema.ts";
import { Revision, RevisionCreateRequest, RevisionsList } from "../revision-schema.ts";
import { Deployment, DeploymentPath, RevisionPath } from "../schema.ts";
import { listRevisions } from "./list-service.ts";
import { RevisionsQuery } from "./query-schema.ts";
import {
  createRevision,
  deleteRevision,
  getRevision,
  interruptRevision,
  redeployRevision,
} from "./revision-service.ts";

export const revisionRoutes = router();

const operation = operationWithTag("Revisions");

const list = operation("get", "/v2/deployments/{deployment_id}/revisions", "listRevisions", {
  summary: "List revisions",
  description: "Revisions of a deployment, newest first.",
  request: { params: DeploymentPath, query: RevisionsQuery },
  responses: { 200: json(RevisionsList, "Page of items, newest first") },
});
revisionRoutes.openapi(list, async (c) => {
  const { deployment_id } = c.req.valid("param");
  return c.json(
    await listRevisions(c.var.ctx, deployment_id, c.req.valid("query"), originOf(c.req.url)),
    200,
  );
});

const get = operation(
  "get",
  "/v2/deployments/{deployment_id}/revisions/{revision_id}",
  "getRevision",
  {
    summary: "Get a revision",
    description:
      "Poll until `status` is `DEPLOYED`, `SKIPPED` or `INTERRUPTED`, or ends in `_FAILED`.",
    request: { params: RevisionPath },
    responses: { 200: json(Revision, "The revision") },
  },
);
revisionRoutes.openapi(get, async (c) =>
  c.json(await getRevision(c.var.ctx, c.req.valid("param"), originOf(c.req.url)), 200),
);

const create = operation("post", "/v2/deployments/{deployment_id}/revisions", "createRevision", {
  summary: "Create a revision",
  description: "Builds the deployment again, with or without a change to its source.",
  request: { params: DeploymentPath, body: body(RevisionCreateRequest) },
  responses: {
    201: json(Revision, "The revision, which is building"),
    409: json(ErrorDetail, "The deployment is being deleted"),
  },
});
revisionRoutes.openapi(create, async (c) => {
  const { deployment_id } = c.req.valid("param");
  const input = c.req.valid("json");
  return c.json(await createRevision(c.var.ctx, deployment_id, input, originOf(c.req.url)), 201);
});

const redeploy = {
  summary: "Redeploy a revision",
  description:
    "Creates a revision with the same code and makes it the active one. Code that was deployed before is not built again.",
  request: { params: RevisionPath },
  responses: {
    200: json(Deployment, "The deployment; `latest_revision_id` is the new revision"),
    400: json(ErrorDetail, "The revision is still building"),
    409: json(ErrorDetail, "The deployment is being deleted"),
  },
};
for (const [path, operationId] of [
  ["/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy", "redeployRevision"],
  ["/v1/projects/{deployment_id}/revisions/{revision_id}/deploy", "redeployProjectRevision"],
] as const) {
  revisionRoutes.openapi(operation("post", path, operationId, redeploy), async (c) =>
    c.json(await redeployRevision(c.var.ctx, c.req.valid("param"), originOf(c.req.url)), 200),
  );
}

const interrupt = operation(
  "post",
  "/v2/deployments/{deployment_id}/revisions/{revision_id}/interrupt",
  "interruptRevision",
  {
    summary: "Interrupt a build",
    description: "The revision becomes `BUILD_FAILED`. The build does not resume.",
    request: { params: RevisionPath },
    responses: {
      200: json(
        Revision,
        "The revision with the status `BUILD_FAILED` and the reason `interrupted`",
      ),
      409: json(ErrorDetail, "The build has ended"),
    },
  },
);
revisionRoutes.openapi(interrupt, async (c) =>
  c.json(await interruptRevision(c.var.ctx, c.req.valid("param"), originOf(c.req.url)), 200),
);

const remove = operation(
  "delete",
  "/v2/deployments/{deployment_id}/revisions/{revision_id}",
  "deleteRevision",
  {
    summary: "Delete a revision",
    description: "For revisions without traffic, such as the preview of a merged branch.",
    request: { params: RevisionPath },
    responses: {
      204: { description: "Deleted" },
      409: json(ErrorDetail, "The revision serves requests, is building, or is the latest one"),
    },
  },
);
revisionRoutes.openapi(remove, async (c) => {
  await deleteRevision(c.var.ctx, c.req.valid("param"));
  return c.body(null, 204);
});
