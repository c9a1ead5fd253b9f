import { createHash } from "node:crypto";
import { notFound } from "../../shared/errors.ts";
import { log } from "../../shared/log.ts";
import { freeTexts } from "../../traces/reads/packed-texts.ts";
import { type ScanPart, scanChunk } from "../../traces/scan/scan-service.ts";
import { selectColumns, sourcesOf } from "../columns.ts";
import { openBucket } from "../destinations/bucket.ts";
import { PAGE_BYTES } from "../limits.ts";
import { ParquetWriter } from "../parquet/writer.ts";
import { readExport } from "../rows.ts";
import type { S3Client } from "../s3/client.ts";
import type { ExportRow, FileRow } from "../table.ts";
import { toFailure } from "./failure.ts";
import { type Finished, leaseLost, recordUpload, renewLease } from "./file-lease.ts";
import { FileUpload } from "./upload.ts";

type Watch = { written: { rows_written: number; bytes_written: number }; signal: AbortSignal };

/** Copies rows to the bucket page by page. Idempotent: the same rows make the same object. */
export async function writeFile(
  env: Env,
  file: FileRow,
  { written, signal }: Watch,
): Promise<Finished> {
  const order = await readOrder(env, file);
  const { ctx, client } = await openBucket(env, order, { signal });
  await abortOther(client, file);
  const upload = new FileUpload(client, file.key, (id) => recordUpload(env, file, id));
  const columns = selectColumns(order.export_fields);
  const constants = constantsOf(order);
  const writer = new ParquetWriter(columns, { compression: order.compression, constants });
  const hash = createHash("sha256");
  const send = async (pieces: Uint8Array[]) => {
    for (const bytes of pieces) {
      hash.update(bytes);
      await upload.write(bytes);
      written.bytes_written += bytes.byteLength;
    }
  };
  const range = { min_start_us: null as number | null, max_start_us: null as number | null };
  try {
    for await (const part of parts(ctx, file, order)) {
      signal.throwIfAborted();
      await send(writer.write(part));
      written.rows_written += part.rows;
      widen(range, part.columns.start_us);
      free(part);
    }
    await send(writer.finish());
    if (!(await renewLease(env, file, written))) throw leaseLost(file);
    const { etag } = await upload.finish();
    return { ...written, ...range, sha256: hash.digest("hex"), etag };
  } catch (error) {
    await upload.abort();
    throw error;
  }
}

/** Aborts the previous writer's upload, so that it cannot complete. */
async function abortOther(client: S3Client, { id, key, upload_id }: FileRow): Promise<void> {
  if (upload_id === null) return;
  try {
    await client.abortUpload(key, upload_id);
  } catch (error) {
    // Credentials may not allow aborts; the lease still keeps the other writer from completing.
    const { is_transient, text } = toFailure(error);
    if (is_transient) throw error;
    log.warn("upload_not_aborted", { file_id: id, reason: text });
  }
}

/** Reads the next page while the current one is encoded. */
async function* parts(ctx: Parameters<typeof scanChunk>[0], file: FileRow, order: ExportRow) {
  const columns = sourcesOf(selectColumns(order.export_fields));
  const request = { columns, filter: order.filter, max_bytes: PAGE_BYTES };
  const read = (after: Parameters<typeof scanChunk>[2]["after"]) =>
    scanChunk(ctx, file.chunk, { ...request, after });
  let coming = read(null);
  while (true) {
    const page = await coming;
    const { next } = page;
    if (next !== null) {
      coming = read(next);
      // Prevents an unhandled rejection before the next await.
      coming.catch(() => undefined);
    }
    yield* page.parts;
    if (next === null) return;
  }
}

/** Frees texts that the writer has copied. */
function free({ columns }: ScanPart): void {
  for (const cells of Object.values(columns)) if (!Array.isArray(cells)) freeTexts(cells);
}

function constantsOf({ workspace_id, session_id }: ExportRow) {
  return { tenant_id: workspace_id, session_id };
}

async function readOrder(env: Env, { bulk_export_id }: FileRow): Promise<ExportRow> {
  const order = await readExport(env, bulk_export_id);
  if (!order) throw notFound("Bulk export", bulk_export_id);
  return order;
}

/** Expects pages in order of time. */
function widen(
  range: { min_start_us: number | null; max_start_us: number | null },
  times: ScanPart["columns"][string] | undefined,
): void {
  if (!Array.isArray(times)) return;
  const [first, last] = [times[0], times.at(-1)];
  if (typeof first !== "number" || typeof last !== "number") return;
  range.min_start_us ??= first;
  range.max_start_us = last;
}
