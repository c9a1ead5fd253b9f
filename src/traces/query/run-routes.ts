import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import { AnyUuid, json, operationWithTag } from "../../shared/schema.ts";
import { TraceRun } from "./run-schema.ts";
import { getTraceRun } from "./run-service.ts";

export const traceRunRoutes = router();

const operation = operationWithTag("Trace runs");
const get = operation("get", "/api/v1/runs/{run_id}", "getTraceRun", {
  summary: "Get a trace run",
  description: "By its id alone, in any project of the workspace.",
  request: { params: z.object({ run_id: AnyUuid.describe("Id of the run") }) },
  responses: { 200: json(TraceRun, "The run") },
});
traceRunRoutes.openapi(get, async (c) =>
  c.json(await getTraceRun(c.var.ctx, c.req.valid("param").run_id), 200),
);
