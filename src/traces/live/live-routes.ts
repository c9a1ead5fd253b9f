import { router } from "../../shared/http/http.ts";
import { body, json, operationWithTag, problem } from "../../shared/schema.ts";
import { RunChanges, RunChangesRequest } from "./changes-schema.ts";
import { listRunChanges } from "./changes-service.ts";
import { ndjsonResponse } from "./ndjson.ts";
import { TraceLine, TraceParams, TraceQuery } from "./trace-schema.ts";
import { readTrace } from "./trace-service.ts";

export const liveRoutes = router();

const operation = operationWithTag("Trace runs");

const trace = operation("get", "/api/v2/traces/{trace_id}/runs", "getTrace", {
  summary: "Get the runs of a trace",
  description:
    "One line of JSON for each run, without payloads, in the order of `dotted_order`. The last line has a cursor. With the cursor, a later request returns only runs that are new or changed since. One request counts as one query.",
  request: { params: TraceParams, query: TraceQuery },
  responses: {
    200: {
      content: { "application/x-ndjson": { schema: TraceLine } },
      description: "Runs, then a line that ends the answer",
    },
  },
});
liveRoutes.openapi(trace, async (c) => {
  const { trace_id } = c.req.valid("param");
  return ndjsonResponse(await readTrace(c.var.ctx, trace_id, c.req.valid("query").cursor));
});

const changes = operation("post", "/api/v2/runs/changes", "listTraceRunChanges", {
  summary: "List changed trace runs",
  description:
    "Runs of a project that are new or changed since a cursor, in order of change, each with its latest state. A request without a cursor returns the cursor of this moment. Deleted runs are not listed.",
  request: { body: body(RunChangesRequest) },
  responses: { 200: json(RunChanges, "The changes"), 404: problem("The project does not exist") },
});
liveRoutes.openapi(changes, async (c) =>
  c.json(await listRunChanges(c.var.ctx, c.req.valid("json")), 200),
);
