import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import { json, operationWithTag } from "../../shared/schema.ts";
import { TraceRun } from "./run-schema.ts";
import { getAttachment, getTraceRun } from "./run-service.ts";

export const traceRunRoutes = router();

const operation = operationWithTag("Trace runs");
const Id = z.guid("must be a UUID").toLowerCase();

const get = operation("get", "/api/v1/runs/{run_id}", "getTraceRun", {
  summary: "Get a trace run",
  request: { params: z.object({ run_id: Id.describe("Id of the run") }) },
  responses: { 200: json(TraceRun, "The run") },
});
traceRunRoutes.openapi(get, async (c) =>
  c.json(await getTraceRun(c.var.ctx, c.req.valid("param").run_id), 200),
);

const attachment = operation("get", "/api/v1/runs/{run_id}/attachments/{name}", "getAttachment", {
  summary: "Get an attachment",
  request: {
    params: z.object({
      run_id: Id.describe("Id of the run"),
      name: z.string().describe("Name of the attachment"),
    }),
  },
  responses: {
    200: {
      content: { "application/octet-stream": { schema: z.string(), example: "..." } },
      description: "The attachment, with its media type",
    },
  },
});
traceRunRoutes.openapi(attachment, async (c) => {
  const { run_id, name } = c.req.valid("param");
  const { body, content_type } = await getAttachment(c.var.ctx, run_id, name);
  // Prevents browsers from rendering attachments as pages of this origin.
  const headers = {
    "Content-Type": content_type,
    "Content-Disposition": "attachment",
    "Content-Security-Policy": "sandbox",
    "X-Content-Type-Options": "nosniff",
  };
  return c.body(body, 200, headers);
});
