import { and, asc, eq, isNotNull, isNull, lt, sql } from "drizzle-orm";
import { type Context, database } from "../../shared/context.ts";
import { withCounts } from "../../shared/database/counted-database.ts";
import { notFound } from "../../shared/errors.ts";
import { newId } from "../../shared/storage/ids.ts";
import { DATABASE_TIME } from "../../shared/storage/sql.ts";
import { DAY_US } from "../../shared/times.ts";
import { chunks } from "../../shared/work/chunks.ts";
import { planScan, type ScanChunk } from "../../traces/scan/scan-service.ts";
import { systemContext } from "../access.ts";
import { dayFolder, partKey, type Root, rootOf } from "../keys.ts";
import { MAX_BYTES_PER_FILE, MAX_RETRIES_PER_FILE, MAX_ROWS_PER_FILE } from "../limits.ts";
import { bulk_exports, type ExportRow } from "../table.ts";
import { daysOf, type Range } from "../windows.ts";
import { planLate } from "./late.ts";

type PlannedFile = {
  id: string;
  run_id: string | null;
  number: number;
  key: string;
  rows: number;
  chunk: ScanChunk;
};
type PlannedRun = { id: string } & Range;
type Plan = {
  now: string;
  days: PlannedRun[];
  files: PlannedFile[];
  watermarks: Record<string, number>;
  /** Ids of files of cancelled windows whose rows are in these files. */
  taken: string[];
};

/** Keeps the JSON of the rows below the 2 MB of a parameter of D1. */
const ROWS_PER_STATEMENT = 1000;

/**
 * Saves the days, files and watermarks of an export. Plans earlier windows without a plan first: their watermarks decide
 * which rows are late.
 */
export async function planExport(env: Env, row: ExportRow): Promise<void> {
  const ctx = await systemContext(env, row.workspace_id);
  if (ctx === null) throw notFound("Workspace", row.workspace_id);
  for (const earlier of await unplannedBefore(env, row)) await savePlan(ctx, earlier);
  await savePlan(ctx, row);
}

/** Idempotent: a second plan is rolled back. */
async function savePlan(ctx: Context, row: ExportRow): Promise<void> {
  const { env } = ctx;
  // Precedes the scans: late rows of a window that is cancelled during the scans belong to a later plan. The clock is that
  // of the cancellation.
  const now = await databaseTime(ctx);
  const range = rangeOf(row);
  const scan = { project_id: row.session_id, filter: row.filter, ...SIZES };
  const fresh = await planScan(ctx, { ...scan, ...toMicroRange(range), min_seqs: null });
  const late = await planLate(ctx, row, { ...scan, max_seqs: fresh.watermarks });
  const watermarks = { ...late.watermarks, ...fresh.watermarks };
  const isCancelled = row.status === "CANCELLED";
  const days = isCancelled ? [] : daysOf(range).map((day) => ({ id: newId(), ...day }));
  const files = toFiles(rootOf(row), days, isCancelled ? [] : fresh.chunks, late.chunks);
  try {
    await insertPlan(env, row, { now, days, files, watermarks, taken: late.taken });
  } catch (error) {
    if (!(await isPlanned(env, row))) throw error;
  }
}

async function databaseTime(ctx: Context): Promise<string> {
  const { now } = await ctx.db.get<{ now: string }>(sql`select ${DATABASE_TIME} as now`);
  return now;
}

async function unplannedBefore(env: Env, row: ExportRow): Promise<ExportRow[]> {
  if (row.source_bulk_export_id === null || row.window_index === null) return [];
  return database(env)
    .select()
    .from(bulk_exports)
    .where(
      and(
        eq(bulk_exports.source_bulk_export_id, row.source_bulk_export_id),
        lt(bulk_exports.window_index, row.window_index),
        isNull(bulk_exports.planned_at),
      ),
    )
    .orderBy(asc(bulk_exports.window_index));
}

async function isPlanned(env: Env, { id }: ExportRow): Promise<boolean> {
  const isOurs = and(eq(bulk_exports.id, id), isNotNull(bulk_exports.planned_at));
  return (await database(env).$count(bulk_exports, isOurs)) > 0;
}

const SIZES = { max_rows: MAX_ROWS_PER_FILE, max_bytes: MAX_BYTES_PER_FILE };

function rangeOf({ id, start_us, end_us }: ExportRow): Range {
  if (end_us === null) throw new Error(`The export ${id} is a schedule, which has no files`);
  return { start_us, end_us };
}

function toMicroRange({ start_us, end_us }: Range) {
  return { from_us: start_us, to_us: end_us };
}

function toFiles(
  root: Root,
  days: PlannedRun[],
  chunks: ScanChunk[],
  late: ScanChunk[],
): PlannedFile[] {
  const runs = new Map(days.map((day) => [dayNumber(day.start_us), day.id]));
  const numbers = new Map<string, number>();
  const toFile = (chunk: ScanChunk, kind: "part" | "late", number: number): PlannedFile => {
    const folder = dayFolder(root, chunk.from_us);
    const files = numbers.get(kind + folder) ?? 0;
    numbers.set(kind + folder, files + 1);
    const run_id = kind === "late" ? null : (runs.get(dayNumber(chunk.from_us)) ?? null);
    const key = partKey(folder, kind, files);
    return { id: newId(), run_id, number, key, rows: chunk.rows, chunk };
  };
  return [
    ...chunks.map((chunk, n) => toFile(chunk, "part", n)),
    ...late.map((chunk, n) => toFile(chunk, "late", chunks.length + n)),
  ];
}

function dayNumber(start_us: number): number {
  return Math.floor(start_us / DAY_US);
}

/** Uses D1 directly: drizzle cannot batch these statements. */
async function insertPlan(
  env: Env,
  { id, workspace_id }: ExportRow,
  { now, days, files, watermarks, taken }: Plan,
): Promise<void> {
  const db = withCounts(env.DB);
  await db.batch([
    db.prepare(SAVE_PLAN).bind(now, now, JSON.stringify(watermarks), id),
    db.prepare(TAKE_FILES).bind(workspace_id, JSON.stringify(taken)),
    ...chunks(days, ROWS_PER_STATEMENT).map((some) =>
      db.prepare(INSERT_RUNS).bind(id, workspace_id, now, JSON.stringify(some)),
    ),
    ...chunks(files, ROWS_PER_STATEMENT).map((some) =>
      db
        .prepare(INSERT_FILES)
        .bind(...[id, workspace_id, id, MAX_RETRIES_PER_FILE, now, JSON.stringify(some)]),
    ),
  ]);
}

/** Fails when the export has a plan, with all statements of its batch: its files may have other ids and other rows. */
const SAVE_PLAN = `UPDATE bulk_exports SET planned_at = ?, updated_at = ?, watermarks = ?,
    workspace_id = CASE WHEN planned_at IS NULL THEN workspace_id END
  WHERE id = ?`;
/** Marks files of cancelled windows as taken: no other window plans their rows. */
const TAKE_FILES = `UPDATE bulk_export_files SET rows_planned = 0
  WHERE workspace_id = ? AND status IN ('CANCELLED', 'FAILED', 'COMPLETED') AND id IN (SELECT value FROM json_each(?))`;
const INSERT_RUNS = `INSERT INTO bulk_export_runs
    (id, bulk_export_id, start_us, end_us, workspace_id, created_at)
  SELECT value ->> 'id', ?, value ->> 'start_us', value ->> 'end_us', ?, ? FROM json_each(?)`;
/** Gives files the status of an export that ended before its plan. */
const INSERT_FILES = `INSERT INTO bulk_export_files
    (id, bulk_export_id, run_id, workspace_id, number, key, chunk, rows_planned, status, token,
     retry_number, retry_limit, rows_written, bytes_written, updated_at)
  SELECT value ->> 'id', ?, value ->> 'run_id', ?, value ->> 'number', value ->> 'key',
    value -> 'chunk', value ->> 'rows',
    (SELECT CASE WHEN status IN ('CREATED', 'RUNNING') THEN 'WAITING' ELSE status END
      FROM bulk_exports WHERE id = ?), 0, 0, ?, 0, 0, ? FROM json_each(?)`;
