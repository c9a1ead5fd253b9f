import { createRoute, z } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { ErrorDetail, HTTPValidationError, json } from "../shared/schema.ts";
import { TraceRun } from "./run-schema.ts";
import { getAttachment, getTraceRun } from "./run-service.ts";

export const traceRunRoutes = router();

const tags = ["Trace runs"];
const Id = z.guid("must be a UUID").toLowerCase();
const missing = { 404: json(ErrorDetail, "There is no such run") };
const wrong = { 422: json(HTTPValidationError, "A field is wrong") };

const get = createRoute({
  method: "get",
  path: "/api/v1/runs/{run_id}",
  operationId: "getTraceRun",
  tags,
  summary: "Get a run",
  request: { params: z.object({ run_id: Id }) },
  responses: { 200: json(TraceRun, "The run"), ...missing, ...wrong },
});
traceRunRoutes.openapi(get, async (c) =>
  c.json(await getTraceRun(c.var.ctx, c.req.valid("param").run_id), 200),
);

const attachment = createRoute({
  method: "get",
  path: "/api/v1/runs/{run_id}/attachments/{name}",
  operationId: "getAttachment",
  tags,
  summary: "Get what is attached to a run",
  request: { params: z.object({ run_id: Id, name: z.string() }) },
  responses: {
    200: {
      content: { "application/octet-stream": { schema: z.string() } },
      description: "The bytes, in the type they were sent with",
    },
    ...missing,
    ...wrong,
  },
});
traceRunRoutes.openapi(attachment, async (c) => {
  const { run_id, name } = c.req.valid("param");
  const { body, content_type } = await getAttachment(c.var.ctx, run_id, name);
  // Never shown as a page of ours, whatever a client attached.
  const headers = {
    "Content-Type": content_type,
    "Content-Disposition": "attachment",
    "Content-Security-Policy": "sandbox",
    "X-Content-Type-Options": "nosniff",
  };
  return c.body(body, 200, headers);
});
