import { router } from "../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag } from "../../shared/schema.ts";
import { GroupRunsRequest, RunGroups } from "./group-schema.ts";
import { groupRuns } from "./group-service.ts";
import { RunStatsAnswer, RunStatsRequest } from "./stats-schema.ts";
import { getRunStats } from "./stats-service.ts";

export const statsRoutes = router();

const operation = operationWithTag("Trace runs");
const failures = {
  404: json(ErrorDetail, "The project does not exist"),
};

const stats = operation("post", "/api/v1/runs/stats", "getTraceRunStats", {
  summary: "Get trace run statistics",
  description: "Counts, latencies, tokens, costs and feedback of the runs that a query matches.",
  request: { body: body(RunStatsRequest) },
  responses: {
    200: json(
      RunStatsAnswer,
      "The statistics, by group with `group_by`, a time series with `stride`",
    ),
    ...failures,
  },
});
statsRoutes.openapi(stats, async (c) =>
  c.json(await getRunStats(c.var.ctx, c.req.valid("json")), 200),
);

const group = operation("post", "/api/v1/runs/group", "groupTraceRuns", {
  summary: "Group traces by thread",
  description: "Threads of traces with the sums of their root runs, by page.",
  request: { body: body(GroupRunsRequest) },
  responses: { 200: json(RunGroups, "Groups, the most recent first"), ...failures },
});
statsRoutes.openapi(group, async (c) =>
  c.json(await groupRuns(c.var.ctx, c.req.valid("json")), 200),
);
