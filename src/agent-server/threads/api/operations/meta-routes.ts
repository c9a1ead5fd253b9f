import { z } from "@hono/zod-openapi";
import { router } from "../../../../shared/http/http.ts";
import { Info, Ok, OkQuery, SERVICE_INFO } from "../../../../shared/http/version.ts";
import { json, operationWithTag } from "../../../../shared/schema.ts";
import { openAgent } from "../../../access/service.ts";
import { AgentPath } from "../../contract/requests/schema.ts";
import { toPrometheus } from "./metrics.ts";
import { Metrics, MetricsQuery } from "./metrics-schema.ts";
import { getMetrics } from "./metrics-service.ts";
import { getOk } from "./ok-service.ts";

export const metaRoutes = router();

const operation = operationWithTag("System");

metaRoutes.openapi(
  operation("get", "/agents/{deployment_id}/ok", "agentOk", {
    summary: "Check an agent's health",
    description: "Answers while the deployment serves.",
    request: { params: AgentPath, query: OkQuery },
    responses: { 200: json(Ok, "The service is healthy") },
  }),
  async (c) => {
    const { check_db } = c.req.valid("query");
    return c.json(await getOk(c.var.ctx, c.req.valid("param").deployment_id, check_db), 200);
  },
);

metaRoutes.openapi(
  operation("get", "/agents/{deployment_id}/info", "agentInfo", {
    summary: "Get an agent's version and features",
    description: "The version of the API and its features.",
    request: { params: AgentPath },
    responses: { 200: json(Info, "Version and features") },
  }),
  async (c) => {
    await openAgent(c.var.ctx, c.req.valid("param").deployment_id, "read");
    return c.json(SERVICE_INFO, 200);
  },
);

const ID = "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071";
const METRICS_EXAMPLE = `# HELP lg_api_num_pending_runs Pending runs, without those of temporary threads.
# TYPE lg_api_num_pending_runs gauge
lg_api_num_pending_runs{project_id="${ID}",revision_id="${ID}"} 0
`;
const EXPOSITION = "text/plain; version=0.0.4; charset=utf-8";

metaRoutes.openapi(
  operation("get", "/agents/{deployment_id}/metrics", "agentMetrics", {
    summary: "Get an agent's metrics",
    description: "Counts of threads and runs, in the Prometheus text format or as JSON.",
    request: { params: AgentPath, query: MetricsQuery },
    responses: {
      200: {
        content: {
          "text/plain": { schema: z.string(), example: METRICS_EXAMPLE },
          "application/json": { schema: Metrics },
        },
        description: "The metrics",
      },
    },
  }),
  async (c) => {
    const metrics = await getMetrics(c.var.ctx, c.req.valid("param").deployment_id);
    if (c.req.valid("query").format === "json") return c.json(Metrics.parse(metrics), 200);
    return c.text(toPrometheus(metrics), 200, { "Content-Type": EXPOSITION });
  },
);
