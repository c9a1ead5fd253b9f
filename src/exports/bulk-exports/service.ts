import { and, desc, eq, isNotNull, isNull, type SQL } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { sha256Hex } from "../../shared/crypto/crypto.ts";
import { AppError, notFound } from "../../shared/errors.ts";
import { newId } from "../../shared/storage/ids.ts";
import { inWorkspace, ownRow } from "../../shared/storage/sql.ts";
import { assertMayExport } from "../access.ts";
import * as limits from "../limits.ts";
import { sendExports } from "../messages.ts";
import { toBulkExports } from "../rows.ts";
import type {
  BulkExport,
  BulkExportCreateRequest,
  BulkExportLimits,
  BulkExportsQuery,
} from "../schema.ts";
import { isRetryable } from "../states.ts";
import { bulk_exports, type ExportRow } from "../table.ts";
import { dueAt } from "../windows.ts";
import { type NewExport, readNewExport } from "./new-export.ts";
import { assertExportQuota, assertRoom } from "./quota.ts";
import { resetForRetry } from "./retry.ts";

export async function createBulkExport(
  ctx: Context,
  input: BulkExportCreateRequest,
  idempotency_key: string | null,
): Promise<BulkExport> {
  assertMayExport(ctx, "start");
  const request_sha256 = sha256Hex(JSON.stringify(input));
  const request = idempotency_key === null ? null : { idempotency_key, request_sha256 };
  if (request) {
    const known = await findByKey(ctx, request);
    if (known) return toSingleBulkExport(ctx, known);
  }
  const bulkExport = await readNewExport(ctx, input);
  await assertExportQuota(ctx);
  await assertRoom(ctx, bulkExport);
  const row = await insertExport(ctx, bulkExport, request);
  if (row.status === "CREATED") await sendExports(ctx.env, [row.id]);
  return toSingleBulkExport(ctx, row);
}

export async function getBulkExport(ctx: Context, id: string): Promise<BulkExport> {
  assertMayExport(ctx, "read");
  return toSingleBulkExport(ctx, await findExport(ctx, id));
}

export async function listBulkExports(
  ctx: Context,
  query: BulkExportsQuery,
): Promise<{ items: BulkExport[]; total: number }> {
  assertMayExport(ctx, "read");
  const where = and(
    inWorkspace(ctx, bulk_exports),
    query.session_id === undefined ? undefined : eq(bulk_exports.session_id, query.session_id),
    query.source_bulk_export_id === undefined
      ? undefined
      : eq(bulk_exports.source_bulk_export_id, query.source_bulk_export_id),
    query.status === undefined ? undefined : eq(bulk_exports.status, query.status),
    query.kind === undefined ? undefined : isOfKind(query.kind),
  );
  const [rows, total] = await Promise.all([
    ctx.db
      .select()
      .from(bulk_exports)
      .where(where)
      .orderBy(desc(bulk_exports.created_at), desc(bulk_exports.id))
      .limit(query.limit)
      .offset(query.offset),
    ctx.db.$count(bulk_exports, where),
  ]);
  return { items: await toBulkExports(ctx, rows), total };
}

function isSchedule({ interval_hours, end_us }: Pick<ExportRow, "interval_hours" | "end_us">) {
  return interval_hours !== null && end_us === null;
}

function isOfKind(kind: NonNullable<BulkExportsQuery["kind"]>): SQL | undefined {
  const { source_bulk_export_id, end_us } = bulk_exports;
  if (kind === "window") return isNotNull(source_bulk_export_id);
  return and(
    isNull(source_bulk_export_id),
    kind === "schedule" ? isNull(end_us) : isNotNull(end_us),
  );
}

/** Starts an export again. Files that failed or timed out are written to the same keys. Completed files stay. */
export async function retryBulkExport(ctx: Context, id: string): Promise<BulkExport> {
  assertMayExport(ctx, "start");
  const row = await findExport(ctx, id);
  if (isSchedule(row)) {
    throw new AppError("conflict", "A schedule cannot be retried: create a new one.");
  }
  if (!isRetryable(row.status)) {
    const text = `The export is ${row.status}: only FAILED and TIMEDOUT exports can be retried.`;
    throw new AppError("conflict", text);
  }
  await assertExportQuota(ctx);
  const again = await resetForRetry(ctx, row);
  await sendExports(ctx.env, [id]);
  return toSingleBulkExport(ctx, again ?? (await findExport(ctx, id)));
}

/** Returns the limits of the installation, which are the same for all workspaces. */
export function getLimits(ctx: Context): BulkExportLimits {
  assertMayExport(ctx, "read");
  return {
    export_timeout_hours: limits.EXPORT_TIMEOUT_HOURS,
    max_files_at_once: limits.MAX_FILES_AT_ONCE,
    max_active_exports: limits.MAX_ACTIVE_EXPORTS,
    max_schedules: limits.MAX_SCHEDULES,
    max_creates_per_hour: limits.MAX_CREATES_PER_HOUR,
    min_interval_hours: limits.MIN_INTERVAL_HOURS,
    max_interval_hours: limits.MAX_INTERVAL_HOURS,
    max_days: limits.MAX_DAYS,
    max_retries_per_file: limits.MAX_RETRIES_PER_FILE,
    spawn_delay_minutes: limits.SPAWN_DELAY_MINUTES,
    max_rows_per_file: limits.MAX_ROWS_PER_FILE,
    max_bytes_per_file: limits.MAX_BYTES_PER_FILE,
  };
}

/** @throws AppError `not_found` for an export of another workspace too */
export async function findExport(ctx: Context, id: string): Promise<ExportRow> {
  const [row] = await ctx.db
    .select()
    .from(bulk_exports)
    .where(ownRow(ctx, bulk_exports, id));
  if (!row) throw notFound("Bulk export", id);
  return row;
}

type KeyedRequest = { idempotency_key: string; request_sha256: string };

/**
 * Inserts an export. Of concurrent requests with one idempotency key, a unique index lets only one insert. Those with the
 * same body return its row.
 * @throws AppError `conflict` for those with another body
 */
async function insertExport(
  ctx: Context,
  bulkExport: NewExport,
  request: KeyedRequest | null,
): Promise<ExportRow> {
  const now = new Date().toISOString();
  const isRepeated = bulkExport.interval_hours !== null;
  const [made] = await ctx.db
    .insert(bulk_exports)
    .values({
      id: newId(),
      workspace_id: ctx.caller.workspace_id,
      ...bulkExport,
      ...request,
      status: isRepeated ? "INTERVAL_SCHEDULED" : "CREATED",
      next_window_index: isRepeated ? 0 : null,
      next_window_at:
        bulkExport.interval_hours === null
          ? null
          : dueAt(bulkExport.start_us, bulkExport.interval_hours, 0),
      created_at: now,
      updated_at: now,
      sent_at: now,
    })
    .onConflictDoNothing()
    .returning();
  if (made) return made;
  const known = request && (await findByKey(ctx, request));
  if (!known) throw new AppError("conflict", "The export was not created: retry.");
  return known;
}

async function findByKey(ctx: Context, request: KeyedRequest): Promise<ExportRow | null> {
  const { workspace_id } = ctx.caller;
  const [row] = await ctx.db
    .select()
    .from(bulk_exports)
    .where(
      and(
        eq(bulk_exports.workspace_id, workspace_id),
        eq(bulk_exports.idempotency_key, request.idempotency_key),
      ),
    );
  if (!row) return null;
  if (row.request_sha256 === request.request_sha256) return row;
  const text = "The Idempotency-Key was used with another body: use a new key for a new export.";
  throw new AppError("conflict", text);
}

export async function toSingleBulkExport(ctx: Context, row: ExportRow): Promise<BulkExport> {
  const [one] = await toBulkExports(ctx, [row]);
  if (one === undefined) throw notFound("Bulk export", row.id);
  return one;
}
