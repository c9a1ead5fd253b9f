import type { Context } from "../../shared/context.ts";
import { notFound } from "../../shared/errors.ts";
import { log } from "../../shared/log.ts";
import { findSealed, openSeal } from "../../traces/scan/sealed-service.ts";
import { openBucket } from "../destinations/bucket.ts";
import { readExport } from "../rows.ts";
import type { S3Client } from "../s3/client.ts";
import type { ExportRow, FileRow } from "../table.ts";
import { encodeRows } from "./encoded-file.ts";
import { toFailure } from "./failure.ts";
import {
  type FileContents,
  type FinishedFile,
  leaseLost,
  recordUpload,
  renewLease,
  type Watch,
} from "./file-lease.ts";
import {
  canCopy,
  hasAllColumns,
  isUnusable,
  planSealedCopy,
  SEALED_LAYOUT,
} from "./sealed-copy.ts";
import { FileUpload, type Mirror } from "./upload.ts";

type Task = { env: Env; ctx: Context; client: S3Client; file: FileRow; watch: Watch };

/** Writes the rows of a file to the bucket. Idempotent: another attempt replaces the object. */
export async function writeFile(env: Env, file: FileRow, watch: Watch): Promise<FinishedFile> {
  const bulkExport = await readExportRow(env, file);
  const { ctx, client } = await openBucket(env, bulkExport, { signal: watch.signal });
  await abortPrevious(client, file);
  const task = { env, ctx, client, file, watch };
  if (!canCopy(bulkExport)) return encodeFile(task, bulkExport, false);
  const { chunk } = file;
  const sealed = await findSealed(ctx, chunk, SEALED_LAYOUT, file.id);
  const copy = await planSealedCopy({ ctx, chunk, bulkExport }, sealed);
  if (copy === null)
    return encodeFile(task, bulkExport, sealed.can_seal && hasAllColumns(bulkExport));
  try {
    return await uploadFile(task, null, (to) => copy(to, watch));
  } catch (error) {
    if (!isUnusable(error)) throw error;
    log.warn("sealed_file_not_copied", { file_id: file.id, reason: String(error) });
    Object.assign(watch.written, { rows_written: 0, bytes_written: 0 });
    return encodeFile(task, bulkExport, false);
  }
}

/** Encodes the rows. With `can_seal`, also writes the file to R2 if the partition allows it. Later exports copy it. */
async function encodeFile(
  task: Task,
  bulkExport: ExportRow,
  can_seal: boolean,
): Promise<FinishedFile> {
  const { ctx, file, watch } = task;
  const seal = can_seal ? await openSeal(ctx, file.chunk, SEALED_LAYOUT, file.id) : null;
  const written = await uploadFile(task, seal, (to) =>
    encodeRows(ctx, file.chunk, bulkExport, to, watch),
  );
  const { rows_written: rows, bytes_written: bytes, sha256, min_start_us, max_start_us } = written;
  await seal?.finish({ rows, bytes, sha256, min_start_us, max_start_us });
  return written;
}

async function uploadFile(
  { env, client, file, watch }: Task,
  mirror: Mirror | null,
  send: (to: FileUpload) => Promise<FileContents>,
): Promise<FinishedFile & FileContents> {
  const onOpened = (id: string) => recordUpload(env, file, id);
  const upload = new FileUpload(client, file.key, onOpened, mirror);
  try {
    const contents = await send(upload);
    if (!(await renewLease(env, file, watch.written))) throw leaseLost(file);
    return { ...contents, ...(await upload.finish()) };
  } catch (error) {
    await upload.abort();
    throw error;
  }
}

/** Aborts the upload of the previous attempt, so that it cannot complete. */
async function abortPrevious(client: S3Client, { id, key, upload_id }: FileRow): Promise<void> {
  if (upload_id === null) return;
  try {
    await client.abortUpload(key, upload_id);
  } catch (error) {
    // The credentials may not allow aborts. The lease still keeps the previous attempt from completing.
    const { is_transient, text } = toFailure(error);
    if (is_transient) throw error;
    log.warn("upload_not_aborted", { file_id: id, reason: text });
  }
}

async function readExportRow(env: Env, { bulk_export_id }: FileRow): Promise<ExportRow> {
  const bulkExport = await readExport(env, bulk_export_id);
  if (!bulkExport) throw notFound("Bulk export", bulk_export_id);
  return bulkExport;
}
