import { originOf, router } from "../../../shared/http/http.ts";
import { sseResponse } from "../../../shared/http/sse.ts";
import { body, ErrorDetail, json, operationWithTag, textField } from "../../../shared/schema.ts";
import { DeploymentPath, RevisionPath } from "../schema.ts";
import {
  LogPage,
  LogQuery,
  LogStreamHeaders,
  LogStreamQuery,
  RevisionStreamHeaders,
} from "./log-schema.ts";
import { listAgentLogs, listBuildLogs } from "./log-service.ts";
import { streamAgentLogs } from "./log-stream-service.ts";
import { streamRevision } from "./revision-stream-service.ts";

/** A project is a deployment here: published clients put its id into these paths. */
const PROJECT = "/v1/projects/{deployment_id}";

export const logRoutes = router();

const operation = operationWithTag("Revisions");
const responses = {
  200: json(LogPage, "Page of lines"),
  404: json(ErrorDetail, "The deployment or the revision does not exist in this workspace"),
};

function events(id: string, message: string) {
  const data = { id: "17", timestamp: "2026-11-20T12:00:00.000000Z", level: "INFO", message };
  const example = `event: log\ndata: ${JSON.stringify(data)}\nid: ${id}\n\n`;
  const schema = textField("Server-sent events", example);
  return { content: { "text/event-stream": { schema } }, description: "The events" };
}

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

const stream = operation(
  "get",
  "/v2/deployments/{deployment_id}/revisions/{revision_id}/stream",
  "streamRevision",
  {
    summary: "Stream a revision and its build log",
    description:
      "Events `log`, a line of the build log, and `revision`, the revision each time that it changes. The stream ends with the build. A connection may end before: connect again with `Last-Event-ID`, which repeats nothing and loses no line.",
    request: { params: RevisionPath, headers: RevisionStreamHeaders },
    responses: {
      200: events("17-9f86d081884c7d65", "Fetched acme/chat"),
      204: { description: "The build has ended, and all of its events were received" },
      404: responses[404],
    },
  },
);
logRoutes.openapi(stream, async (c) => {
  const last = c.req.valid("header")["last-event-id"];
  const changes = await streamRevision(c.var.ctx, c.req.valid("param"), last, originOf(c.req.url));
  return changes === null ? c.body(null, 204) : sseResponse(changes, {});
});

const agentStream = operation(
  "get",
  "/v2/deployments/{deployment_id}/revisions/{revision_id}/logs/stream",
  "streamAgentLogs",
  {
    summary: "Stream revision logs",
    description:
      "An event `log` for each line that the agents of a revision print, and for the errors they throw. The stream begins with the lines of the time range that exist, and continues until `end_time`, if there is one. A connection may end before: connect again with `Last-Event-ID`, which repeats nothing and loses no line that is still kept.",
    request: { params: RevisionPath, query: LogStreamQuery, headers: LogStreamHeaders },
    responses: {
      200: events("17", "Order 1042 is refunded"),
      204: {
        description:
          "`end_time` has passed, and all lines before it that exist were received. A call that ends later may still add some",
      },
      404: responses[404],
    },
  },
);
logRoutes.openapi(agentStream, async (c) => {
  const last = c.req.valid("header")["last-event-id"];
  const lines = await streamAgentLogs(c.var.ctx, c.req.valid("param"), c.req.valid("query"), last);
  return lines === null ? c.body(null, 204) : sseResponse(lines, {});
});
