import { createRoute } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { body, ErrorDetail, HTTPValidationError, json } from "../shared/schema.ts";
import { GroupRunsRequest, RunGroups } from "./group-schema.ts";
import { groupRuns } from "./group-service.ts";
import { RunStatsAnswer, RunStatsRequest } from "./stats-schema.ts";
import { getRunStats } from "./stats-service.ts";

export const statsRoutes = router();

const tags = ["Trace runs"];
const failures = {
  404: json(ErrorDetail, "There is no such project"),
  422: json(HTTPValidationError, "A field or a filter is wrong"),
  429: json(ErrorDetail, "Too many requests; Retry-After says when"),
};

const stats = createRoute({
  method: "post",
  path: "/api/v1/runs/stats",
  operationId: "getTraceRunStats",
  tags,
  summary: "Count the runs that a query finds, and their times, tokens, costs and feedback",
  request: { body: body(RunStatsRequest) },
  responses: {
    200: json(RunStatsAnswer, "The numbers, by group if groups were asked for"),
    ...failures,
  },
});
statsRoutes.openapi(stats, async (c) =>
  c.json(await getRunStats(c.var.ctx, c.req.valid("json")), 200),
);

const group = createRoute({
  method: "post",
  path: "/api/v1/runs/group",
  operationId: "groupTraceRuns",
  tags,
  summary: "Group a project's traces by thread, with the numbers of each",
  request: { body: body(GroupRunsRequest) },
  responses: { 200: json(RunGroups, "The thread that went on last first"), ...failures },
});
statsRoutes.openapi(group, async (c) =>
  c.json(await groupRuns(c.var.ctx, c.req.valid("json")), 200),
);
