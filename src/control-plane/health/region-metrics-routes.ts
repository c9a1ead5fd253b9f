import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import { ErrorDetail, json, operationWithTag } from "../../shared/schema.ts";
import { getRegionMetrics } from "./region-metrics-service.ts";

export const regionMetricsRoutes = router();

const EXPOSITION = "text/plain; version=0.0.4; charset=utf-8";
const EXAMPLE =
  "# HELP heddle_runs_started_total Runs whose first attempt began.\n# TYPE heddle_runs_started_total counter\nheddle_runs_started_total 4\n";

const operation = operationWithTag("System");

const metrics = operation("get", "/v1/metrics", "getRegionMetrics", {
  summary: "Get metrics of the region",
  description:
    "Prometheus text for the operator. Needs `Authorization: Bearer <OPERATOR_TOKEN>`; no key of a workspace is accepted. Counters are sums over all isolates. An isolate adds what it counted at most every ten seconds. No label names a workspace.",
  security: [],
  responses: {
    200: {
      description: "Prometheus text format 0.0.4",
      content: { "text/plain": { schema: z.string(), example: EXAMPLE } },
    },
    401: json(ErrorDetail, "The bearer token is not the operator's"),
    404: json(ErrorDetail, "The installation has no operator token"),
  },
});
regionMetricsRoutes.openapi(metrics, async (c) => {
  const text = await getRegionMetrics(c.env, c.req.header("Authorization"));
  return c.text(text, 200, { "Content-Type": EXPOSITION, "Cache-Control": "no-store" });
});
