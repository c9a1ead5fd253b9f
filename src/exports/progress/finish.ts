import { and, asc, eq, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { assertProject } from "../../traces/projects/service.ts";
import { openBucket } from "../destinations/bucket.ts";
import { addToTable } from "../iceberg/commit.ts";
import { readTableInfo } from "../iceberg/table-info.ts";
import { manifestKey, rootOf, successKey } from "../keys.ts";
import { bulk_export_files, bulk_exports, type ExportRow, type FileRow } from "../table.ts";
import { toManifest } from "./manifest.ts";
import { findWrong } from "./object-check.ts";

/** Verifies the objects, adds them to the table if any, then writes the manifest, and `_SUCCESS` last. Idempotent. */
export async function finishExport(
  env: Env,
  row: ExportRow,
  signal: AbortSignal,
): Promise<"finished" | "files_missing"> {
  const { ctx, client, bucket_name, bucket_url } = await openBucket(env, row, { signal });
  const files = await ctx.db
    .select()
    .from(bulk_export_files)
    .where(eq(bulk_export_files.bulk_export_id, row.id))
    .orderBy(asc(bulk_export_files.number));
  // Files are not written again once the table names them with their sizes.
  const root = rootOf(row);
  const wrong = row.table_version === null ? await findWrong(client, files, root) : [];
  if (wrong.length > 0) {
    await writeAgain(env, row, wrong);
    return "files_missing";
  }
  // Files lack rows when the project was deleted while they were written.
  await assertProject(ctx, row.session_id);
  await addToTable(env, row, files, signal);
  const table = await readTableInfo(env, row, bucket_url);
  const manifest = toManifest(row, files, { bucket_name, bucket_url, table });
  const body = new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`);
  await client.putObject(manifestKey(root), body, { "Content-Type": "application/json" });
  await client.putObject(successKey(root), new Uint8Array(0));
  return "finished";
}

/** @throws AppError when a file has no retry left */
async function writeAgain(env: Env, { id }: ExportRow, files: FileRow[]): Promise<void> {
  const [spent] = files.filter(({ retry_number, retry_limit }) => retry_number >= retry_limit);
  if (spent) {
    const text = `${spent.key} is missing or changed in the bucket after it was written: stop other programs from deleting or overwriting it.`;
    throw new AppError("invalid_request", text);
  }
  const ids = JSON.stringify(files.map((file) => file.id));
  await database(env)
    .update(bulk_export_files)
    .set({
      status: "WAITING",
      retry_number: sql`${bulk_export_files.retry_number} + 1`,
      errors: sql`json_set(coalesce(${bulk_export_files.errors}, '{}'),
        '$.retry_' || ${bulk_export_files.retry_number}, ${"The object in the bucket is missing or changed."})`,
      rows_written: 0,
      bytes_written: 0,
      sent_at: null,
      finished_at: null,
    })
    .where(
      and(
        sql`${bulk_export_files.id} in (select value from json_each(${ids}))`,
        eq(bulk_export_files.status, "COMPLETED"),
        sql`exists (select 1 from ${bulk_exports} where id = ${id} and status = 'RUNNING')`,
      ),
    );
}
