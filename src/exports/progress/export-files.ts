import { and, asc, eq, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { MAX_FILES_AT_ONCE, RESEND_AFTER_MS } from "../limits.ts";
import { sendFiles } from "../messages.ts";
import type { FileCounts } from "../states.ts";
import { bulk_export_files } from "../table.ts";

/**
 * Sends waiting files of a workspace up to the limit, in turns of its running exports. Marks the rows before it sends the
 * messages. `status in (...)` lets SQLite use the partial index, which has this condition.
 */
export async function sendNextFiles(env: Env, workspace_id: string): Promise<void> {
  const now = new Date();
  const at = now.toISOString();
  const before = new Date(now.getTime() - RESEND_AFTER_MS).toISOString();
  const running = sql`select count(*) from bulk_export_files
    where status in ('WAITING', 'RUNNING') and status = 'RUNNING'
      and workspace_id = ${workspace_id} and lease_expires_at > ${at}`;
  const sent = sql`select count(*) from bulk_export_files
    where status in ('WAITING', 'RUNNING') and status = 'WAITING' and sent_at > ${before}
      and workspace_id = ${workspace_id} and coalesce(next_attempt_at, '') <= ${at}`;
  const next = sql`select id from bulk_export_files
    where bulk_export_id = running_export.id and status = 'WAITING'
      and coalesce(sent_at, '') <= ${before} and coalesce(next_attempt_at, '') <= ${at}
    order by number limit ${MAX_FILES_AT_ONCE}`;
  const chosen = sql`select file.id
    from bulk_exports running_export cross join bulk_export_files file on file.id in (${next})
    where running_export.workspace_id = ${workspace_id} and running_export.status = 'RUNNING'
    order by file.number
    limit max(0, ${MAX_FILES_AT_ONCE} - (${running}) - (${sent}))`;
  const rows = await database(env)
    .update(bulk_export_files)
    .set({ sent_at: at })
    .where(sql`${bulk_export_files.id} in (${chosen})`)
    .returning({ id: bulk_export_files.id });
  await sendFiles(
    env,
    rows.map((row) => row.id),
  );
}

export async function countFiles(env: Env, id: string): Promise<FileCounts> {
  const { status } = bulk_export_files;
  const rows = await database(env)
    .select({ status, count: sql<number>`count(*)` })
    .from(bulk_export_files)
    .where(eq(bulk_export_files.bulk_export_id, id))
    .groupBy(status);
  return Object.fromEntries(rows.map((row) => [row.status, row.count]));
}

/** Maximum number of failed files that the error of an export names. */
const MAX_NAMED = 20;

/** Returns a line with the last error of each of the first MAX_NAMED failed files, and the number of the others. */
export async function failureText(env: Env, id: string): Promise<string> {
  const { key, errors, bulk_export_id, status, number } = bulk_export_files;
  const isFailed = and(eq(bulk_export_id, id), eq(status, "FAILED"));
  const [rows, count] = await Promise.all([
    database(env)
      .select({ key, errors })
      .from(bulk_export_files)
      .where(isFailed)
      .orderBy(asc(number))
      .limit(MAX_NAMED),
    database(env).$count(bulk_export_files, isFailed),
  ]);
  const lines = rows.map((row) => {
    const text = Object.values(row.errors ?? {}).at(-1) ?? "The file could not be written.";
    return `${row.key}: ${text}`;
  });
  const others = count - rows.length;
  return [...lines, ...(others > 0 ? [`${others} more files failed.`] : [])].join("\n");
}
