import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import { AnyUuid, json, operationWithTag } from "../../shared/schema.ts";
import {
  BATCH_BODY,
  IngestError,
  MULTIPART_BODY,
  RUN_BODY,
  RunsAccepted,
} from "./ingest-schema.ts";
import { createTraceRun, ingestBatch, ingestMultipart, patchTraceRun } from "./ingest-service.ts";

export const ingestRoutes = router();

const operation = operationWithTag("Trace runs");
const RunId = z.object({
  run_id: AnyUuid.describe("Id of the run"),
});
const answers = {
  202: json(RunsAccepted, "The runs are stored durably"),
  400: json(IngestError, "The body does not match its headers"),
};
const responses = {
  ...answers,
  404: json(IngestError, "The project or the run does not exist"),
};

const create = operation("post", "/api/v1/runs", "createTraceRun", {
  summary: "Create a trace run",
  description: "Accepts a run before or after its parent. A repeated id is merged.",
  request: { body: RUN_BODY },
  responses,
});
ingestRoutes.openapi(create, async (c) => c.json(await createTraceRun(c.var.ctx, c.req.raw), 202));

const batch = operation("post", "/api/v1/runs/batch", "ingestRunsBatch", {
  summary: "Create and update trace runs",
  description: "Posts and patches in one request, in any order.",
  request: { body: BATCH_BODY },
  responses: answers,
});
ingestRoutes.openapi(batch, async (c) => c.json(await ingestBatch(c.var.ctx, c.req.raw), 202));

const multipart = operation("post", "/api/v1/runs/multipart", "ingestRunsMultipart", {
  summary: "Create trace runs with attachments",
  description:
    "One multipart body carries runs, updates, attachments and feedback. A 422 names the parts that are refused; the others are stored.",
  request: { body: MULTIPART_BODY },
  responses: answers,
});
ingestRoutes.openapi(multipart, async (c) =>
  c.json(await ingestMultipart(c.var.ctx, c.req.raw), 202),
);

const patch = operation("patch", "/api/v1/runs/{run_id}", "patchTraceRun", {
  summary: "Update a trace run",
  description: "Merges the fields into the run, also before its POST arrives.",
  request: { params: RunId, body: RUN_BODY },
  responses,
});
ingestRoutes.openapi(patch, async (c) =>
  c.json(await patchTraceRun(c.var.ctx, c.req.valid("param").run_id, c.req.raw), 202),
);
