import { and, eq, isNotNull } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { log } from "../../shared/log.ts";
import { openBucket } from "../destinations/bucket.ts";
import { toFailure } from "../files/failure.ts";
import { backOff } from "../files/postponement.ts";
import { exportFolder, manifestKey, rootOf, successKey } from "../keys.ts";
import { LAST_WRITES_MS } from "../limits.ts";
import type { S3Client } from "../s3/client.ts";
import { bulk_export_files, bulk_exports, type ExportRow } from "../table.ts";

/** Time after which transient errors of the bucket end the clean-up too. */
const GIVE_UP_MS = 24 * 3_600_000;
/** Short limits: the sweep repeats the clean-up. */
const LIMITS = { attempts: 2, attempt_ms: 10_000 };

/**
 * Aborts open uploads of an ended export. Deletes the markers of an export that did not complete. The sweep repeats the
 * clean-up after a transient error, and, for an export that did not complete, until its last writer has stopped.
 */
export async function cleanUp(env: Env, row: ExportRow, now: Date): Promise<void> {
  const elapsed_ms = now.getTime() - Date.parse(row.finished_at ?? row.updated_at);
  const failures = (await clean(env, row)).map((error) => ({ error, ...toFailure(error) }));
  const transient = failures.find(({ is_transient }) => is_transient);
  if (transient && elapsed_ms < GIVE_UP_MS) {
    return backOff(env, row, { ...transient, event: "export_not_cleaned", elapsed_ms });
  }
  for (const { text } of failures) {
    log.warn("export_not_cleaned", { bulk_export_id: row.id, reason: text });
  }
  if (row.status !== "COMPLETED" && elapsed_ms < LAST_WRITES_MS) return;
  await database(env)
    .update(bulk_exports)
    .set({ cleaned_at: now.toISOString() })
    .where(and(eq(bulk_exports.id, row.id), isSameEnd(row)));
}

/** Matches the export while it has the same end: a retry starts it again, and it may end a second time. */
function isSameEnd({ status, finished_at }: ExportRow) {
  if (finished_at === null) return eq(bulk_exports.status, status);
  return and(eq(bulk_exports.status, status), eq(bulk_exports.finished_at, finished_at));
}

/** Continues after permanent errors and stops at a transient one. Returns the errors. */
async function clean(env: Env, row: ExportRow): Promise<unknown[]> {
  const thrown: unknown[] = [];
  const attempt = async <T>(step: () => Promise<T>): Promise<T | null> => {
    try {
      return await step();
    } catch (error) {
      thrown.push(error);
      if (toFailure(error).is_transient) throw error;
      return null;
    }
  };
  try {
    await takeSteps(env, row, attempt);
  } catch (error) {
    if (!thrown.includes(error)) throw error;
  }
  return thrown;
}

/** Skips a change of the bucket once a retry has started the export again. */
async function unlessRestarted(
  env: Env,
  row: ExportRow,
  change: () => Promise<void>,
): Promise<void> {
  const isEnded = and(eq(bulk_exports.id, row.id), isSameEnd(row));
  if ((await database(env).$count(bulk_exports, isEnded)) > 0) await change();
}

type Attempt = <T>(step: () => Promise<T>) => Promise<T | null>;

async function takeSteps(env: Env, row: ExportRow, attempt: Attempt): Promise<void> {
  const bucket = await attempt(() => openBucket(env, row, { limits: LIMITS }));
  if (bucket === null) return;
  const { client } = bucket;
  const change = (step: () => Promise<void>) => attempt(() => unlessRestarted(env, row, step));
  if (row.status !== "COMPLETED") {
    for (const key of markers(row)) await change(() => client.deleteObject(key));
  }
  const known = await attempt(() => knownUploads(env, row));
  // Uploads without a row: the writer died before it recorded them.
  const found = await attempt(() => foundUploads(client, row));
  for (const { key, upload_id } of [...(known ?? []), ...(found ?? [])]) {
    await change(() => client.abortUpload(key, upload_id));
  }
}

/** Returns the keys that mark the export as complete. */
function markers(row: ExportRow): string[] {
  const root = rootOf(row);
  return [successKey(root), manifestKey(root)];
}

type Open = { key: string; upload_id: string };

async function knownUploads(env: Env, { id }: ExportRow): Promise<Open[]> {
  const { key, upload_id, bulk_export_id } = bulk_export_files;
  const rows = await database(env)
    .select({ key, upload_id })
    .from(bulk_export_files)
    .where(and(eq(bulk_export_id, id), isNotNull(upload_id)));
  return rows.flatMap((row) =>
    row.upload_id === null ? [] : { ...row, upload_id: row.upload_id },
  );
}

/** Filters by prefix: a server may list other uploads too. */
async function foundUploads(client: S3Client, row: ExportRow): Promise<Open[]> {
  const folder = exportFolder(rootOf(row));
  const open = await client.listUploads(folder);
  return open.filter(({ key }) => key.startsWith(folder));
}
