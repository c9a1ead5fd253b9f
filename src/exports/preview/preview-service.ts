import { and, asc, eq, gt } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { egressPolicy } from "../../shared/egress/egress.ts";
import { AppError, invalid } from "../../shared/errors.ts";
import { assertRate } from "../../shared/http/rate-limit.ts";
import { inWorkspace } from "../../shared/storage/sql.ts";
import { ISOLATE_BUDGET, type Reserve } from "../../shared/work/memory-budget.ts";
import { assertMayExport } from "../access.ts";
import { findExport } from "../bulk-exports/service.ts";
import { remedyFor } from "../destinations/advice.ts";
import { bucketUrl } from "../destinations/base.ts";
import { getDestination, targetOf } from "../destinations/service.ts";
import { readTableInfo } from "../iceberg/table-info.ts";
import { toManifest } from "../progress/manifest.ts";
import { s3Client } from "../s3/client.ts";
import { S3Error } from "../s3/problem.ts";
import type { S3Target } from "../s3/signing.ts";
import { bulk_export_files, type FileRow } from "../table.ts";
import { type ParquetRows, type PreviewCell, readFirstRows } from "./parquet-rows.ts";
import { BulkExportManifest, BulkExportPreview, type PreviewQuery } from "./preview-schema.ts";

const PREVIEWS = { name: "export_preview", calls: 60, in_s: 60 };
const LIMITS = { attempts: 2, total_ms: 15_000, attempt_ms: 10_000, max_delay_ms: 500 };
const MAX_CELL_CHARS = 2000;

/** Reads the first rows of a file from the bucket. Waits while other requests hold the memory of the isolate. */
export async function previewExport(
  ctx: Context,
  id: string,
  { limit, key }: PreviewQuery,
): Promise<BulkExportPreview> {
  assertMayExport(ctx, "read");
  assertRate(ctx, PREVIEWS);
  const bulkExport = await findExport(ctx, id);
  const file = await findFile(ctx, id, key);
  if (file === null)
    return { key: null, rows_total: 0, columns: [], omitted_columns: [], rows: [] };
  const { target } = await targetOf(ctx, bulkExport.bulk_export_destination_id);
  return ISOLATE_BUDGET.hold(async (reserve) => {
    const found = await readFile(ctx, target, file, { limit, reserve });
    return BulkExportPreview.parse({
      key: file.key,
      rows_total: file.rows_written,
      columns: found.columns,
      omitted_columns: found.omitted,
      rows: found.rows.map(toPreviewRow),
    });
  });
}

/** Returns the manifest of the files that are written so far. */
export async function getManifest(ctx: Context, id: string): Promise<BulkExportManifest> {
  assertMayExport(ctx, "read");
  const bulkExport = await findExport(ctx, id);
  const files = await ctx.db
    .select()
    .from(bulk_export_files)
    .where(isWritten(ctx, id))
    .orderBy(asc(bulk_export_files.number));
  const { config } = await getDestination(ctx, bulkExport.bulk_export_destination_id);
  const [{ bucket_name }, bucket_url] = [config, bucketUrl(config)];
  const table = await readTableInfo(ctx.env, bulkExport, bucket_url);
  return BulkExportManifest.parse(
    toManifest(bulkExport, files, { bucket_name, bucket_url, table }),
  );
}

async function findFile(
  ctx: Context,
  id: string,
  key: string | undefined,
): Promise<FileRow | null> {
  const isWanted =
    key === undefined ? gt(bulk_export_files.rows_written, 0) : eq(bulk_export_files.key, key);
  const [file] = await ctx.db
    .select()
    .from(bulk_export_files)
    .where(and(isWritten(ctx, id), isWanted))
    .orderBy(asc(bulk_export_files.number))
    .limit(1);
  if (file === undefined && key !== undefined) {
    throw invalid(["query", "key"], "must be the key of a written file of this export");
  }
  return file ?? null;
}

function isWritten({ caller }: Context, id: string) {
  return and(
    eq(bulk_export_files.bulk_export_id, id),
    inWorkspace({ caller }, bulk_export_files),
    eq(bulk_export_files.status, "COMPLETED"),
  );
}

async function readFile(
  ctx: Context,
  target: S3Target,
  { key, bytes_written, etag }: FileRow,
  { limit, reserve }: { limit: number; reserve: Reserve },
): Promise<ParquetRows> {
  const policy = egressPolicy(ctx.env, "exports");
  const client = s3Client(target, { policy, limits: LIMITS });
  const readRange = (range: [number, number]) => client.getRange(key, etag, range);
  const source = { readRange, reserve };
  return readFirstRows(bytes_written, source, limit).catch((error: unknown) => {
    if (error instanceof AppError) throw error;
    throw new AppError("bad_destination", explainRead(error, target, key), { cause: error });
  });
}

const GONE = ["NoSuchKey", "NotFound", "PreconditionFailed", "InvalidRange"];

function explainRead(error: unknown, target: S3Target, key: string): string {
  const changed = "It was deleted or changed after it was written: create another export.";
  if (!(error instanceof S3Error)) return `${key} is not a file of this export. ${changed}`;
  const { problem } = error;
  const reason = `${key} cannot be read: ${problem.code}: ${problem.message.replace(/\.$/, "")}.`;
  if (GONE.includes(problem.code)) return `${reason} ${changed}`;
  if (problem.status === 403) return `${reason} Allow s3:GetObject for it.`;
  return `${reason} ${remedyFor(problem, target, key)}.`;
}

function toPreviewRow(values: Record<string, PreviewCell>) {
  const cut: string[] = [];
  const shown = Object.entries(values).map(([name, value]): [string, PreviewCell] => {
    const short = shorten(value);
    if (short !== value) cut.push(name);
    return [name, short];
  });
  return { values: Object.fromEntries(shown), cut };
}

/** Returns a short value as it is, so that the caller can see whether it was cut. */
function shorten(value: PreviewCell): PreviewCell {
  if (typeof value === "string" && value.length > MAX_CELL_CHARS) {
    return value.slice(0, MAX_CELL_CHARS).toWellFormed();
  }
  if (!Array.isArray(value)) return value;
  let left = MAX_CELL_CHARS;
  const kept = value.filter((item) => {
    left -= (item?.length ?? 0) + 1;
    return left >= 0;
  });
  return kept.length === value.length ? value : kept;
}
