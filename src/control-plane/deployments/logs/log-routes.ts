import { router } from "../../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag } from "../../../shared/schema.ts";
import { DeploymentPath, RevisionPath } from "../schema.ts";
import { LogPage, LogQuery } from "./log-schema.ts";
import { listAgentLogs, listBuildLogs } from "./log-service.ts";

/** A project is a deployment here: published clients put its id into these paths. */
const PROJECT = "/v1/projects/{deployment_id}";

export const logRoutes = router();

const operation = operationWithTag("Revisions");
const responses = {
  200: json(LogPage, "Page of lines"),
  404: json(ErrorDetail, "The deployment or the revision does not exist in this workspace"),
};

const builds = operation("post", `${PROJECT}/revisions/{revision_id}/build_logs`, "listBuildLogs", {
  summary: "List build logs",
  description: "Log lines of a build. Poll with `next_offset` for new ones.",
  request: { params: RevisionPath, body: body(LogQuery) },
  responses,
});
logRoutes.openapi(builds, async (c) =>
  c.json(await listBuildLogs(c.var.ctx, c.req.valid("param"), c.req.valid("json")), 200),
);

const agents = operation("post", `${PROJECT}/deploy_logs`, "listAgentLogs", {
  summary: "List deployment logs",
  description: "Lines that the agents of a deployment print, and the errors they throw.",
  request: { params: DeploymentPath, body: body(LogQuery) },
  responses,
});
logRoutes.openapi(agents, async (c) =>
  c.json(await listAgentLogs(c.var.ctx, c.req.valid("param"), c.req.valid("json")), 200),
);

const ofRevision = operation(
  "post",
  `${PROJECT}/revisions/{revision_id}/deploy_logs`,
  "listAgentLogsOfRevision",
  {
    summary: "List revision logs",
    description: "Lines that the agents of a revision print, and the errors they throw.",
    request: { params: RevisionPath, body: body(LogQuery) },
    responses,
  },
);
logRoutes.openapi(ofRevision, async (c) =>
  c.json(await listAgentLogs(c.var.ctx, c.req.valid("param"), c.req.valid("json")), 200),
);
