import { router } from "../../shared/http/http.ts";
import { toByteStream } from "../../shared/http/sse.ts";
import { body, json, operationWithTag, problem } from "../../shared/schema.ts";
import { TraceRuns, TraceRunsQuery } from "../traces/traces-schema.ts";
import { listTraceRuns } from "../traces/traces-service.ts";
import { RunChanges, RunChangesRequest } from "./changes-schema.ts";
import { listRunChanges } from "./changes-service.ts";
import { TraceLine, TraceParams, TraceQuery } from "./trace-schema.ts";
import { readTrace } from "./trace-service.ts";

const CHUNK_CHARS = 64 * 1024;

export const liveRoutes = router();

const operation = operationWithTag("Trace runs");

const trace = operation("get", "/api/v2/traces/{trace_id}/runs", "getTrace", {
  summary: "Get the runs of a trace",
  description:
    "One line of JSON for each run, without payloads, in the order of `dotted_order`. Runs of agents that a span of the trace has called are below it. The last line has a cursor. With the cursor, a later request returns only runs that are new or changed since. One request counts as one query. With `project_id` the answer is one JSON object.",
  request: { params: TraceParams, query: TraceQuery.extend(TraceRunsQuery.shape) },
  responses: {
    200: {
      content: {
        "application/x-ndjson": { schema: TraceLine },
        "application/json": { schema: TraceRuns },
      },
      description: "Runs, then a line that ends the answer; with `project_id` all runs",
    },
    413: problem("With `project_id`: the trace has more runs than one answer holds"),
  },
});
liveRoutes.openapi(trace, async (c) => {
  const { trace_id } = c.req.valid("param");
  const { project_id, ...query } = c.req.valid("query");
  if (project_id) return c.json(await listTraceRuns(c.var.ctx, trace_id, project_id, query), 200);
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

/** Writes a line of JSON for each value. The types of zod-openapi know no response of this media type. */
function ndjsonResponse(values: AsyncGenerator<unknown>): never {
  const headers = { "Content-Type": "application/x-ndjson", "Cache-Control": "no-store" };
  return new Response(toByteStream(linesOf(values)), { headers }) as never;
}

/** Joins lines to pieces of `CHUNK_CHARS` characters or more. The last piece may be shorter. */
async function* linesOf(values: AsyncGenerator<unknown>) {
  let text = "";
  for await (const value of values) {
    text += `${JSON.stringify(value)}\n`;
    if (text.length < CHUNK_CHARS) continue;
    yield text;
    text = "";
  }
  yield text;
}
