import { router } from "../../shared/http/http.ts";
import { ErrorDetail, json, operationWithTag } from "../../shared/schema.ts";
import {
  BulkExportManifest,
  BulkExportPreview,
  PreviewPath,
  PreviewQuery,
} from "./preview-schema.ts";
import { getManifest, previewExport } from "./preview-service.ts";

export const previewRoutes = router();

const operation = operationWithTag("Bulk exports");

const preview = operation(
  "get",
  "/api/v1/bulk-exports/{bulk_export_id}/preview",
  "getBulkExportPreview",
  {
    summary: "Get the first rows of an export",
    description:
      "Reads the first rows of a file from the bucket, which needs `s3:GetObject`. Texts have at most 2000 characters.",
    request: { params: PreviewPath, query: PreviewQuery },
    responses: {
      200: json(BulkExportPreview, "The rows"),
      400: json(ErrorDetail, "The file cannot be read: `detail` has the reason and the remedy"),
    },
  },
);
previewRoutes.openapi(preview, async (c) => {
  const { bulk_export_id } = c.req.valid("param");
  return c.json(await previewExport(c.var.ctx, bulk_export_id, c.req.valid("query")), 200);
});

const manifest = operation(
  "get",
  "/api/v1/bulk-exports/{bulk_export_id}/manifest",
  "getBulkExportManifest",
  {
    summary: "Get the manifest of an export",
    description:
      "Files with rows, size and SHA-256, the columns, and SQL that reads them. Available while the export runs.",
    request: { params: PreviewPath },
    responses: { 200: json(BulkExportManifest, "The manifest") },
  },
);
previewRoutes.openapi(manifest, async (c) =>
  c.json(await getManifest(c.var.ctx, c.req.valid("param").bulk_export_id), 200),
);
