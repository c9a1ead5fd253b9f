import { z } from "@hono/zod-openapi";
import { router } from "../../shared/http/http.ts";
import { warningHeader, warningHeaders } from "../../shared/http/warnings.ts";
import { body, ErrorDetail, json, operationWithTag, Uuid } from "../../shared/schema.ts";
import { MAX_IDEMPOTENCY_KEY_CHARS } from "../limits.ts";
import {
  BulkExport,
  BulkExportCreateRequest,
  BulkExportLimits,
  BulkExportPatchRequest,
  BulkExportsQuery,
} from "../schema.ts";
import { cancelBulkExport } from "./cancel-service.ts";
import { BulkExportEstimate, EstimateExportRequest } from "./estimate-schema.ts";
import { estimateExport } from "./estimate-service.ts";
import { BulkExportRun, ExportRunsQuery } from "./run-schema.ts";
import { getExportRun, listExportRuns, listRunsOfSchedule } from "./runs-service.ts";
import {
  createBulkExport,
  getBulkExport,
  getLimits,
  listBulkExports,
  retryBulkExport,
} from "./service.ts";

export const exportRoutes = router();

const operation = operationWithTag("Bulk exports");
const ExportId = z.object({ bulk_export_id: Uuid.describe("Id of the export") });

const create = operation("post", "/api/v1/bulk-exports", "createBulkExport", {
  summary: "Create a bulk export",
  description: "Exports the runs of a project once, or on a schedule with `interval_hours`.",
  request: {
    headers: z.object({
      "idempotency-key": z
        .string()
        .min(1)
        .max(MAX_IDEMPOTENCY_KEY_CHARS)
        .optional()
        .describe(
          "Idempotency key: repeated requests with the same key and body create one export",
        ),
    }),
    body: body(BulkExportCreateRequest),
  },
  responses: {
    200: {
      ...json(BulkExport, "The export or the schedule"),
      ...warningHeaders("`end_time` is in the future"),
    },
    404: json(ErrorDetail, "The destination or the project does not exist in this workspace"),
    409: json(
      ErrorDetail,
      "The `Idempotency-Key` was used with another body, or the limit of schedules is reached",
    ),
    429: json(
      ErrorDetail,
      "Too many requests, or too many exports per hour: retry after `Retry-After` seconds",
    ),
  },
});
exportRoutes.openapi(create, async (c) => {
  const key = c.req.valid("header")["idempotency-key"] ?? null;
  const made = await createBulkExport(c.var.ctx, c.req.valid("json"), key);
  return c.json(made, 200, warningHeader(warnOfFuture(made)));
});

const list = operation("get", "/api/v1/bulk-exports", "listBulkExports", {
  summary: "List bulk exports",
  description: "Exports and schedules, newest first.",
  request: { query: BulkExportsQuery },
  responses: { 200: json(z.array(BulkExport), "Page of results") },
});
exportRoutes.openapi(list, async (c) => {
  const { items, total } = await listBulkExports(c.var.ctx, c.req.valid("query"));
  return c.json(items, 200, { "X-Pagination-Total": String(total) });
});

const estimate = operation("post", "/api/v1/bulk-exports/estimate", "getBulkExportEstimate", {
  summary: "Get an estimate of an export",
  description: "Counts the runs of a time range and a filter, before an export is created.",
  request: { body: body(EstimateExportRequest) },
  responses: {
    200: json(BulkExportEstimate, "The estimate"),
    404: json(ErrorDetail, "The project does not exist in this workspace"),
  },
});
exportRoutes.openapi(estimate, async (c) =>
  c.json(await estimateExport(c.var.ctx, c.req.valid("json")), 200),
);

const readLimits = operation("get", "/api/v1/bulk-exports/limits", "getBulkExportLimits", {
  summary: "Get export limits",
  description: "Limits that a client can show before it creates an export.",
  responses: { 200: json(BulkExportLimits, "The limits") },
});
exportRoutes.openapi(readLimits, (c) => c.json(getLimits(c.var.ctx), 200));

const listBySource = operation("get", "/api/v1/bulk-exports/runs", "listBulkExportRunsBySource", {
  summary: "List runs of a schedule",
  description: "Runs of all exports that the schedule created.",
  request: {
    query: ExportRunsQuery.extend({ source_bulk_export_id: Uuid.describe("Id of the schedule") }),
  },
  responses: {
    200: json(z.array(BulkExportRun), "Runs, ordered by start time"),
    404: json(ErrorDetail, "The schedule does not exist in this workspace"),
  },
});
exportRoutes.openapi(listBySource, async (c) => {
  const { source_bulk_export_id, ...query } = c.req.valid("query");
  return c.json(await listRunsOfSchedule(c.var.ctx, source_bulk_export_id, query), 200);
});

const get = operation("get", "/api/v1/bulk-exports/{bulk_export_id}", "getBulkExport", {
  summary: "Get a bulk export",
  description: "With its status, progress and errors.",
  request: { params: ExportId },
  responses: { 200: json(BulkExport, "The export") },
});
exportRoutes.openapi(get, async (c) =>
  c.json(await getBulkExport(c.var.ctx, c.req.valid("param").bulk_export_id), 200),
);

const cancel = operation("patch", "/api/v1/bulk-exports/{bulk_export_id}", "cancelBulkExport", {
  summary: "Cancel a bulk export",
  description: "Cancels an export or a schedule.",
  request: { params: ExportId, body: body(BulkExportPatchRequest) },
  responses: {
    200: json(BulkExport, "Cancelled"),
    409: json(ErrorDetail, "The export has ended, or its table has the window"),
  },
});
exportRoutes.openapi(cancel, async (c) =>
  c.json(await cancelBulkExport(c.var.ctx, c.req.valid("param").bulk_export_id), 200),
);

const retry = operation("post", "/api/v1/bulk-exports/{bulk_export_id}/retry", "retryBulkExport", {
  summary: "Retry a bulk export",
  description:
    "Starts an export again that failed or timed out. Writes the files that failed or timed out.",
  request: { params: ExportId },
  responses: {
    200: json(BulkExport, "The export, which was started again"),
    409: json(ErrorDetail, "The export did not fail or time out, or is a schedule"),
  },
});
exportRoutes.openapi(retry, async (c) =>
  c.json(await retryBulkExport(c.var.ctx, c.req.valid("param").bulk_export_id), 200),
);

const listRuns = operation(
  "get",
  "/api/v1/bulk-exports/{bulk_export_id}/runs",
  "listBulkExportRuns",
  {
    summary: "List runs of an export",
    description: "One run for each UTC day.",
    request: { params: ExportId, query: ExportRunsQuery },
    responses: { 200: json(z.array(BulkExportRun), "Runs, by day") },
  },
);
exportRoutes.openapi(listRuns, async (c) => {
  const { bulk_export_id } = c.req.valid("param");
  return c.json(await listExportRuns(c.var.ctx, bulk_export_id, c.req.valid("query")), 200);
});

const getRun = operation(
  "get",
  "/api/v1/bulk-exports/{bulk_export_id}/runs/{run_id}",
  "getBulkExportRun",
  {
    summary: "Get a run of an export",
    description: "A run is the part of an export for one UTC day.",
    request: { params: ExportId.extend({ run_id: Uuid.describe("Id of the run") }) },
    responses: { 200: json(BulkExportRun, "The run") },
  },
);
exportRoutes.openapi(getRun, async (c) => {
  const { bulk_export_id, run_id } = c.req.valid("param");
  return c.json(await getExportRun(c.var.ctx, bulk_export_id, run_id), 200);
});

/**
 * Returns a warning for an end in the future: the export begins now, so it lacks the runs that arrive later.
 * @returns `null` for a schedule, and for an end that was past when the export was created
 */
function warnOfFuture({ end_time, created_at }: BulkExport): string | null {
  if (end_time === null || Date.parse(end_time) <= Date.parse(created_at)) return null;
  return `end_time is in the future: the export has only the runs received until now. Create it after ${end_time}, or a schedule with interval_hours.`;
}
