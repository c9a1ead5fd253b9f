import { and, eq, isNull, lte, or, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { count } from "../../shared/metrics/metrics.ts";
import { isUnleased, LeaseLost, leaseUntil } from "../../shared/work/lease.ts";
import { LEASE_MS, MAX_FILES_AT_ONCE } from "../limits.ts";
import { bulk_export_files, bulk_exports, type FileRow } from "../table.ts";

const files = bulk_export_files;
const isOfRunningExport = sql`exists (select 1 from ${bulk_exports} e
  where e.id = ${files.bulk_export_id} and e.status = 'RUNNING')`;

/**
 * Claims a waiting file.
 * @returns `null` for a file that is not waiting or not due, for a file of an export that is not RUNNING, and while the
 * workspace writes MAX_FILES_AT_ONCE files
 */
export async function claimFile(env: Env, id: string, now: Date): Promise<FileRow | null> {
  const at = now.toISOString();
  const [row] = await database(env)
    .update(files)
    .set({
      status: "RUNNING",
      token: sql`${files.token} + 1`,
      lease_expires_at: leaseUntil(now, LEASE_MS),
      sent_at: at,
      started_at: at,
      updated_at: at,
    })
    .where(
      and(
        eq(files.id, id),
        eq(files.status, "WAITING"),
        isUnleased(files.lease_expires_at, at),
        or(isNull(files.next_attempt_at), lte(files.next_attempt_at, at)),
        isOfRunningExport,
        // `status in (...)` lets SQLite use the partial index, which has this condition.
        sql`(select count(*) from ${files} other
          where other.status in ('WAITING', 'RUNNING') and other.status = 'RUNNING'
            and other.workspace_id = ${files.workspace_id} and other.lease_expires_at > ${at}
        ) < ${MAX_FILES_AT_ONCE}`,
      ),
    )
    .returning();
  return row ?? null;
}

/** Returns the file if its attempt stopped without a result: the file is RUNNING, and its lease has expired. */
export async function findLostAttempt(env: Env, id: string, now: Date): Promise<FileRow | null> {
  const [row] = await database(env)
    .select()
    .from(files)
    .where(
      and(
        eq(files.id, id),
        eq(files.status, "RUNNING"),
        isUnleased(files.lease_expires_at, now.toISOString()),
        isOfRunningExport,
      ),
    );
  return row ?? null;
}

type Written = { rows_written: number; bytes_written: number };

/**
 * Leaves the file to another isolate, which may have more memory. Does not count as a retry.
 * @returns whether the attempt still had the file
 */
export function releaseFile(env: Env, file: FileRow, next_attempt_at: Date): Promise<boolean> {
  return change(env, file, {
    status: "WAITING",
    lease_expires_at: null,
    next_attempt_at: next_attempt_at.toISOString(),
    sent_at: new Date().toISOString(),
  });
}

export async function renewLease(env: Env, file: FileRow, written: Written): Promise<boolean> {
  return change(env, file, { ...written, lease_expires_at: leaseUntil(new Date(), LEASE_MS) });
}

/** Records the upload before its first part, so that the clean-up can abort it. */
export async function recordUpload(env: Env, file: FileRow, upload_id: string): Promise<void> {
  if (!(await change(env, file, { upload_id }))) throw leaseLost(file);
}

export type FinishedFile = Written &
  Pick<FileRow, "sha256" | "etag" | "min_start_us" | "max_start_us">;

export type FileContents = Omit<FinishedFile, "etag"> & { sha256: string };
/** Progress of an attempt, and the signal that ends it. */
export type Watch = { written: Written; signal: AbortSignal };

export async function completeFile(env: Env, file: FileRow, finished: FinishedFile): Promise<void> {
  const now = new Date().toISOString();
  const isOurs = await change(env, file, {
    ...finished,
    status: "COMPLETED",
    upload_id: null,
    lease_expires_at: null,
    next_attempt_at: null,
    finished_at: now,
  });
  if (!isOurs) throw leaseLost(file);
  count("heddle_export_files_total", { outcome: "completed" });
  count("heddle_export_rows_total", {}, finished.rows_written);
  count("heddle_export_bytes_total", {}, finished.bytes_written);
}

type Failed = { text: string; next_attempt_at: string | null };

/**
 * Schedules the next attempt, or fails the file. Keeps the id of the open upload for its abort.
 * @returns whether the attempt still had the file
 */
export async function failFile(
  env: Env,
  file: FileRow,
  { text, next_attempt_at }: Failed,
): Promise<boolean> {
  const now = new Date().toISOString();
  const errors = { ...file.errors, [`retry_${file.retry_number}`]: text };
  const outcome = next_attempt_at === null ? "failed" : "postponed";
  const isOurs = await change(env, file, {
    errors,
    retry_number: next_attempt_at === null ? file.retry_number : file.retry_number + 1,
    status: next_attempt_at === null ? "FAILED" : "WAITING",
    lease_expires_at: null,
    next_attempt_at,
    sent_at: now,
    rows_written: 0,
    bytes_written: 0,
    finished_at: next_attempt_at === null ? now : null,
  });
  if (isOurs) count("heddle_export_files_total", { outcome });
  return isOurs;
}

export function leaseLost({ id, token }: FileRow): LeaseLost {
  return new LeaseLost(`file ${id}`, token);
}

/** @returns whether the attempt still has the file: otherwise nothing has changed */
async function change(env: Env, file: FileRow, fields: Partial<FileRow>): Promise<boolean> {
  const rows = await database(env)
    .update(files)
    .set({ ...fields, updated_at: new Date().toISOString() })
    .where(and(eq(files.id, file.id), eq(files.token, file.token), eq(files.status, "RUNNING")))
    .returning({ id: files.id });
  return rows.length > 0;
}
