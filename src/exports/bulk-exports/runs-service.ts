import { and, asc, eq, type SQL } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { notFound } from "../../shared/errors.ts";
import { among, inWorkspace } from "../../shared/storage/sql.ts";
import { toIso } from "../../shared/times.ts";
import { assertMayExport } from "../access.ts";
import { dayFolder, rootOf } from "../keys.ts";
import { exportRunStatus, type FileCounts, isFinal } from "../states.ts";
import {
  bulk_export_files,
  bulk_export_runs,
  bulk_exports,
  type ExportRow,
  type ExportRunRow,
  type FileRow,
} from "../table.ts";
import { BulkExportRun, type ExportRunsQuery } from "./run-schema.ts";
import { findExport } from "./service.ts";

type Pair = { run: ExportRunRow; bulkExport: ExportRow };

export async function listExportRuns(
  ctx: Context,
  export_id: string,
  query: ExportRunsQuery,
): Promise<BulkExportRun[]> {
  assertMayExport(ctx, "read");
  await findExport(ctx, export_id);
  return findRuns(ctx, eq(bulk_exports.id, export_id), query);
}

export async function listRunsOfSchedule(
  ctx: Context,
  schedule_id: string,
  query: ExportRunsQuery,
): Promise<BulkExportRun[]> {
  assertMayExport(ctx, "read");
  await findExport(ctx, schedule_id);
  return findRuns(ctx, eq(bulk_exports.source_bulk_export_id, schedule_id), query);
}

export async function getExportRun(
  ctx: Context,
  export_id: string,
  run_id: string,
): Promise<BulkExportRun> {
  assertMayExport(ctx, "read");
  await findExport(ctx, export_id);
  const where = and(eq(bulk_exports.id, export_id), eq(bulk_export_runs.id, run_id));
  const [run] = await findRuns(ctx, where, { limit: 1, offset: 0 });
  if (!run) throw notFound("Bulk export run", run_id);
  return run;
}

async function findRuns(
  ctx: Context,
  where: SQL | undefined,
  { limit, offset }: ExportRunsQuery,
): Promise<BulkExportRun[]> {
  const pairs = await ctx.db
    .select({ run: bulk_export_runs, bulkExport: bulk_exports })
    .from(bulk_export_runs)
    .innerJoin(bulk_exports, eq(bulk_exports.id, bulk_export_runs.bulk_export_id))
    .where(and(where, inWorkspace(ctx, bulk_export_runs)))
    .orderBy(asc(bulk_export_runs.start_us))
    .limit(limit)
    .offset(offset);
  const files = await filesOf(ctx, pairs);
  return pairs.map((pair) => toRun(pair, files.get(pair.run.id) ?? []));
}

async function filesOf(ctx: Context, pairs: Pair[]): Promise<Map<string | null, FileRow[]>> {
  const { run_id, number } = bulk_export_files;
  const ids = pairs.map(({ run }) => run.id);
  const rows = await ctx.db
    .select()
    .from(bulk_export_files)
    .where(and(among(run_id, ids), inWorkspace(ctx, bulk_export_files)))
    .orderBy(asc(number));
  return Map.groupBy(rows, (file) => file.run_id);
}

function toRun({ run, bulkExport }: Pair, files: FileRow[]): BulkExportRun {
  const counts: FileCounts = {};
  for (const { status } of files) counts[status] = (counts[status] ?? 0) + 1;
  const status = exportRunStatus(counts, bulkExport.status);
  const window = { start_time: toIso(run.start_us), end_time: toIso(run.end_us) };
  const written = files.filter((file) => file.status === "COMPLETED");
  const folder = dayFolder(rootOf(bulkExport), run.start_us);
  const last = latest(files.map(({ updated_at }) => updated_at)) ?? run.created_at;
  const ended = latest(files.flatMap(({ finished_at }) => finished_at ?? [])) ?? run.created_at;
  return BulkExportRun.parse({
    id: run.id,
    bulk_export_id: bulkExport.id,
    session_id: bulkExport.session_id,
    status,
    retry_number: Math.max(0, ...files.map(({ retry_number }) => retry_number)),
    errors: errorsOf(files),
    ...window,
    created_at: run.created_at,
    updated_at: last,
    finished_at: isFinal(status) ? ended : null,
    metadata: {
      prefix: folder,
      ...window,
      execution_backend: null,
      result: {
        rows_written: sum(files.map(({ rows_written }) => rows_written)),
        bytes_written: sum(files.map(({ bytes_written }) => bytes_written)),
        exported_files: written.map(({ key }) => key),
        export_path: folder,
        latest_cursor: null,
        pending_upload: null,
      },
    },
  });
}

/** Maximum number of files whose errors a run lists for each attempt. */
const MAX_NAMED = 20;

/** Returns the errors of the failed files by attempt, such as `retry_0`. Without a failed file, those of all files. */
function errorsOf(files: FileRow[]): Record<string, string> | null {
  const failed = files.filter(({ status }) => status === "FAILED");
  const lines: Record<string, string[]> = {};
  for (const { key, errors } of failed.length > 0 ? failed : files) {
    const file = key.slice(key.lastIndexOf("/") + 1);
    for (const [attempt, text] of Object.entries(errors ?? {})) {
      lines[attempt] ??= [];
      lines[attempt].push(`${file}: ${text}`);
    }
  }
  if (Object.keys(lines).length === 0) return null;
  return Object.fromEntries(
    Object.entries(lines).map(([attempt, all]) => {
      const more = all.length > MAX_NAMED ? [`${all.length - MAX_NAMED} more files.`] : [];
      return [attempt, [...all.slice(0, MAX_NAMED), ...more].join("\n")];
    }),
  );
}

function latest(times: string[]): string | undefined {
  return times.sort().at(-1);
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
