import { selectColumns } from "../columns.ts";
import { openBucket } from "../destinations/bucket.ts";
import { readExport } from "../rows.ts";
import type { ExportRow, FileRow } from "../table.ts";
import { readDataFiles, toDataFile } from "./data-files.ts";
import { planMerge } from "./merge.ts";
import { prepareCommit } from "./prepare.ts";
import { publishTable } from "./publish.ts";
import { saveCommit } from "./save-commit.ts";
import { withTable } from "./table-lease.ts";

/**
 * Appends a window to the table of its schedule, once. The row in D1 decides which version is the newest. The manifests
 * are written to the bucket before the row is saved. The metadata that names them is written afterwards, by this attempt
 * or by the next attempt of any window. Does nothing for an export without a table.
 */
export async function addToTable(
  env: Env,
  row: ExportRow,
  files: readonly FileRow[],
  signal: AbortSignal,
): Promise<void> {
  const { source_bulk_export_id: schedule_id, workspace_id } = row;
  if (row.table_format === null || schedule_id === null) return;
  await withTable(env, { schedule_id, workspace_id }, signal, async (table, fenced) => {
    const bucket = await openBucket(env, row, { signal: fenced });
    await publishTable(env, table, bucket);
    if ((await readExport(env, row.id))?.table_version != null) return;
    const version = table.version + 1;
    const merge = planMerge(table.manifests);
    const commit = await prepareCommit(bucket, {
      table,
      row,
      version,
      columns: selectColumns(row.export_fields),
      added: files.filter(hasRows).map((file) => toDataFile(file, version, row.id)),
      merge: { ...merge, files: await readDataFiles(env, table, merge.merged) },
    });
    await publishTable(env, await saveCommit(env, table, row.id, commit), bucket);
  });
}

function hasRows({ rows_written }: FileRow): boolean {
  return rows_written > 0;
}
