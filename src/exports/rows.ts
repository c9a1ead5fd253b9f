import { and, type Column, eq, type SQL, sql } from "drizzle-orm";
import { type Context, database } from "../shared/context.ts";
import { among, inWorkspace } from "../shared/storage/sql.ts";
import { DAY_US, toIso } from "../shared/times.ts";
import { EXPORT_TIMEOUT_HOURS } from "./limits.ts";
import { BulkExport } from "./schema.ts";
import { progressOf, type Tally } from "./states.ts";
import { bulk_export_files, bulk_exports, type ExportRow } from "./table.ts";

const NOTHING: Tally = {
  rows_written: 0,
  late_rows_written: 0,
  rows_total: 0,
  bytes_written: 0,
  files_written: 0,
  files_total: 0,
};

async function tallies({ db, caller }: Context, ids: string[]): Promise<Map<string, Tally>> {
  const files = bulk_export_files;
  const rows = await db
    .select({
      id: files.bulk_export_id,
      rows_written: sql<number>`sum(${files.rows_written})`,
      late_rows_written: sql<number>`sum(iif(${files.run_id} is null, ${files.rows_written}, 0))`,
      rows_total: sql<number>`sum(${files.rows_planned})`,
      bytes_written: sql<number>`sum(${files.bytes_written})`,
      files_written: sql<number>`sum(${files.status} = 'COMPLETED')`,
      files_total: sql<number>`count(*)`,
    })
    .from(files)
    .where(and(inWorkspace({ caller }, files), among(files.bulk_export_id, ids)))
    .groupBy(files.bulk_export_id);
  return new Map(rows.map(({ id, ...tally }) => [id, tally]));
}

export async function toBulkExports(ctx: Context, rows: ExportRow[]): Promise<BulkExport[]> {
  const found = await tallies(
    ctx,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => toBulkExport(row, found.get(row.id) ?? NOTHING));
}

function toBulkExport(row: ExportRow, tally: Tally): BulkExport {
  const { start_us, end_us, interval_hours, status, planned_at } = row;
  return BulkExport.parse({
    ...row,
    tenant_id: row.workspace_id,
    start_time: toIso(start_us),
    end_time: end_us === null ? null : toIso(end_us),
    format: "Parquet",
    all_experiments: null,
    progress:
      interval_hours !== null && end_us === null
        ? null
        : progressOf(tally, { status, planned_at, now: new Date() }),
  });
}

/** Not scoped to a workspace: internal callers only. */
export async function readExport(env: Env, id: string): Promise<ExportRow | null> {
  const [row] = await database(env).select().from(bulk_exports).where(eq(bulk_exports.id, id));
  return row ?? null;
}

/**
 * Maximum time for which an export keeps traces from expiry. The time begins with the creation, and again with the
 * start, the plan and each retry. An export times out after half of this time.
 */
const MAX_USE_MS = 2 * EXPORT_TIMEOUT_HOURS * 3_600_000;

type DayColumns = { workspace_id: Column; project_id: Column; day: Column };

/**
 * Matches a row that names a project and a UTC day, while an active export reads that day: in its range or for late rows.
 */
export function isBeingExported({ workspace_id, project_id, day }: DayColumns, now: Date): SQL {
  const { status, session_id, start_us, end_us, created_at, updated_at } = bulk_exports;
  const { bulk_export_id, chunk } = bulk_export_files;
  const midnight_us = sql`unixepoch(${day}) * 1000000`;
  const since = new Date(now.getTime() - MAX_USE_MS).toISOString();
  return sql`exists (
    select 1 from ${bulk_exports}
    where ${status} in ('CREATED', 'RUNNING') and ${bulk_exports.workspace_id} = ${workspace_id}
      and ${session_id} = ${project_id} and max(${created_at}, ${updated_at}) > ${since}
      and ((${start_us} < ${midnight_us} + ${DAY_US} and ${end_us} > ${midnight_us}) or exists (
        select 1 from ${bulk_export_files}
        where ${bulk_export_id} = ${bulk_exports.id}
          and json_extract(${chunk}, '$.partition.day') = ${day}
      ))
  )`;
}
