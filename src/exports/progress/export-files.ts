import { and, asc, eq, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { MAX_FILES_AT_ONCE } from "../limits.ts";
import { sendFiles } from "../messages.ts";
import type { FileCounts } from "../states.ts";
import { bulk_export_files } from "../table.ts";

/** Sends waiting files up to the limit, in order. Marks the rows before the messages. */
export async function sendNextFiles(env: Env, id: string): Promise<void> {
  const now = new Date().toISOString();
  const due = sql`select f.id from ${bulk_export_files} f
    where f.bulk_export_id = ${id} and f.status = 'WAITING' and f.sent_at is null
    order by f.number
    limit max(0, ${MAX_FILES_AT_ONCE} - (select count(*) from ${bulk_export_files} busy
      where busy.bulk_export_id = ${id}
        and (busy.status = 'RUNNING' or (busy.status = 'WAITING' and busy.sent_at is not null))))`;
  const rows = await database(env)
    .update(bulk_export_files)
    .set({ sent_at: now })
    .where(sql`${bulk_export_files.id} in (${due})`)
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

export async function firstError(env: Env, id: string): Promise<string> {
  const [row] = await database(env)
    .select({ key: bulk_export_files.key, errors: bulk_export_files.errors })
    .from(bulk_export_files)
    .where(and(eq(bulk_export_files.bulk_export_id, id), eq(bulk_export_files.status, "FAILED")))
    .orderBy(asc(bulk_export_files.number))
    .limit(1);
  const text = Object.values(row?.errors ?? {}).at(-1) ?? "A file could not be written.";
  return `${row?.key ?? ""}: ${text}`;
}
