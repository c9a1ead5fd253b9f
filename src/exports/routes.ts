import { createRoute, z } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { body, bodyRefusals, ErrorDetail, json, refusals, Uuid } from "../shared/schema.ts";
import { MAX_IDEMPOTENCY_KEY_CHARS } from "./limits.ts";
import { getExportRun, listExportRuns, listRunsOfSchedule } from "./runs-service.ts";
import {
  BulkExport,
  BulkExportCreateRequest,
  BulkExportLimits,
  BulkExportPatchRequest,
  BulkExportRun,
  BulkExportsQuery,
  ExportRunsQuery,
} from "./schema.ts";
import {
  cancelBulkExport,
  createBulkExport,
  getBulkExport,
  getLimits,
  listBulkExports,
  retryBulkExport,
} from "./service.ts";

export const exportRoutes = router();

const tags = ["Bulk exports"];
const ExportId = z.object({ bulk_export_id: Uuid });
const missing = { 404: json(ErrorDetail, "There is no such export in the workspace") };
const conflict = { 409: json(ErrorDetail, "The export's status does not allow this") };

const create = createRoute({
  method: "post",
  path: "/api/v1/bulk-exports",
  operationId: "createBulkExport",
  tags,
  summary: "Export a project's runs, once or on a schedule",
  request: {
    headers: z.object({
      "idempotency-key": z.string().min(1).max(MAX_IDEMPOTENCY_KEY_CHARS).optional().openapi({
        description: "The same key with the same body makes one export, however often it is sent",
      }),
    }),
    body: body(BulkExportCreateRequest),
  },
  responses: {
    200: json(BulkExport, "The export, or the schedule"),
    ...bodyRefusals,
    404: json(ErrorDetail, "The destination or the project is not in the workspace"),
    409: json(ErrorDetail, "The Idempotency-Key came with another body before"),
    429: json(ErrorDetail, "Too many exports in an hour, or too many schedules"),
  },
});
exportRoutes.openapi(create, async (c) => {
  const key = c.req.valid("header")["idempotency-key"] ?? null;
  return c.json(await createBulkExport(c.var.ctx, c.req.valid("json"), key), 200);
});

const list = createRoute({
  method: "get",
  path: "/api/v1/bulk-exports",
  operationId: "listBulkExports",
  tags,
  summary: "List exports and schedules, newest first",
  request: { query: BulkExportsQuery },
  responses: { 200: json(z.array(BulkExport), "One page"), ...refusals },
});
exportRoutes.openapi(list, async (c) => {
  const { items, total } = await listBulkExports(c.var.ctx, c.req.valid("query"));
  return c.json(items, 200, { "X-Pagination-Total": String(total) });
});

const readLimits = createRoute({
  method: "get",
  path: "/api/v1/bulk-exports/limits",
  operationId: "getBulkExportLimits",
  tags,
  summary: "What an export may take",
  responses: { 200: json(BulkExportLimits, "The limits"), ...refusals },
});
exportRoutes.openapi(readLimits, (c) => c.json(getLimits(c.var.ctx), 200));

const listBySource = createRoute({
  method: "get",
  path: "/api/v1/bulk-exports/runs",
  operationId: "listBulkExportRunsBySource",
  tags,
  summary: "List the runs of all exports that a schedule spawned",
  request: { query: ExportRunsQuery.extend({ source_bulk_export_id: Uuid }) },
  responses: { 200: json(z.array(BulkExportRun), "By start time"), ...refusals, ...missing },
});
exportRoutes.openapi(listBySource, async (c) => {
  const { source_bulk_export_id, ...query } = c.req.valid("query");
  return c.json(await listRunsOfSchedule(c.var.ctx, source_bulk_export_id, query), 200);
});

const get = createRoute({
  method: "get",
  path: "/api/v1/bulk-exports/{bulk_export_id}",
  operationId: "getBulkExport",
  tags,
  summary: "Get an export with its progress",
  request: { params: ExportId },
  responses: { 200: json(BulkExport, "The export"), ...refusals, ...missing },
});
exportRoutes.openapi(get, async (c) =>
  c.json(await getBulkExport(c.var.ctx, c.req.valid("param").bulk_export_id), 200),
);

const cancel = createRoute({
  method: "patch",
  path: "/api/v1/bulk-exports/{bulk_export_id}",
  operationId: "cancelBulkExport",
  tags,
  summary: "Cancel an export or a schedule",
  request: { params: ExportId, body: body(BulkExportPatchRequest) },
  responses: { 200: json(BulkExport, "Cancelled"), ...bodyRefusals, ...missing, ...conflict },
});
exportRoutes.openapi(cancel, async (c) =>
  c.json(await cancelBulkExport(c.var.ctx, c.req.valid("param").bulk_export_id), 200),
);

const retry = createRoute({
  method: "post",
  path: "/api/v1/bulk-exports/{bulk_export_id}/retry",
  operationId: "retryBulkExport",
  tags,
  summary: "Write again what failed of an export",
  request: { params: ExportId },
  responses: { 200: json(BulkExport, "It goes on"), ...refusals, ...missing, ...conflict },
});
exportRoutes.openapi(retry, async (c) =>
  c.json(await retryBulkExport(c.var.ctx, c.req.valid("param").bulk_export_id), 200),
);

const listRuns = createRoute({
  method: "get",
  path: "/api/v1/bulk-exports/{bulk_export_id}/runs",
  operationId: "listBulkExportRuns",
  tags,
  summary: "List the runs of an export, one for each UTC day",
  request: { params: ExportId, query: ExportRunsQuery },
  responses: { 200: json(z.array(BulkExportRun), "By day"), ...refusals, ...missing },
});
exportRoutes.openapi(listRuns, async (c) => {
  const { bulk_export_id } = c.req.valid("param");
  return c.json(await listExportRuns(c.var.ctx, bulk_export_id, c.req.valid("query")), 200);
});

const getRun = createRoute({
  method: "get",
  path: "/api/v1/bulk-exports/{bulk_export_id}/runs/{run_id}",
  operationId: "getBulkExportRun",
  tags,
  summary: "Get one run of an export",
  request: { params: ExportId.extend({ run_id: Uuid }) },
  responses: { 200: json(BulkExportRun, "The run"), ...refusals, ...missing },
});
exportRoutes.openapi(getRun, async (c) => {
  const { bulk_export_id, run_id } = c.req.valid("param");
  return c.json(await getExportRun(c.var.ctx, bulk_export_id, run_id), 200);
});
