import { z } from "@hono/zod-openapi";
import { originOf, router } from "../../shared/http/http.ts";
import {
  AnyUuid,
  body,
  ErrorDetail,
  json,
  operationWithTag,
  problem,
} from "../../shared/schema.ts";
import { RunsPage, RunsPageV2, RunsQueryRequest, RunsQueryV2Request } from "./query-schema.ts";
import { queryRuns } from "./query-service.ts";
import { getRunV2, queryRunsV2 } from "./query-v2.ts";

export const queryRoutes = router();

const operation = operationWithTag("Trace runs");
const failures = {
  404: json(ErrorDetail, "The project does not exist"),
};
const problems = {
  404: problem("The project or the run does not exist"),
};

const query = operation("post", "/api/v1/runs/query", "queryTraceRuns", {
  summary: "Query trace runs",
  description: "Pages are stable while new runs arrive.",
  request: { body: body(RunsQueryRequest) },
  responses: { 200: json(RunsPage, "Page of results"), ...failures },
});
queryRoutes.openapi(query, async (c) =>
  c.json(await queryRuns(c.var.ctx, c.req.valid("json")), 200),
);

const queryV2 = operation("post", "/api/v2/runs/query", "queryTraceRunsV2", {
  summary: "Query trace runs (v2)",
  description: "Returns the fields in `selects`, by page with a cursor.",
  request: { body: body(RunsQueryV2Request) },
  responses: { 200: json(RunsPageV2, "Page of results"), ...problems },
});
queryRoutes.openapi(queryV2, async (c) =>
  c.json(await queryRunsV2(c.var.ctx, c.req.valid("json")), 200),
);

const Selects = z.union([z.string().transform((name) => [name]), z.array(z.string()).max(100)]);

const getV2 = operation("get", "/api/v2/runs/{run_id}", "getTraceRunV2", {
  summary: "Get a trace run (v2)",
  description: "Returns the fields in `selects`.",
  request: {
    params: z.object({ run_id: AnyUuid.describe("Id of the run") }),
    query: z.object({ selects: Selects.optional().describe("Fields to return. Default: all") }),
  },
  responses: { 200: json(z.record(z.string(), z.unknown()), "The run"), ...problems },
});
queryRoutes.openapi(getV2, async (c) => {
  const { run_id } = c.req.valid("param");
  const { selects } = c.req.valid("query");
  return c.json(await getRunV2(c.var.ctx, run_id, selects, originOf(c.req.url)), 200);
});
