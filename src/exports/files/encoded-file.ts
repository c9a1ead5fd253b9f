import type { Context } from "../../shared/context.ts";
import { type ScanChunk, scanChunk } from "../../traces/scan/scan-service.ts";
import { sourcesOf } from "../columns.ts";
import { PAGE_BYTES } from "../limits.ts";
import type { ExportRow } from "../table.ts";
import type { FileContents, Watch } from "./file-lease.ts";
import { ParquetFile } from "./parquet-file.ts";
import type { FileUpload } from "./upload.ts";

/** Sends the rows of a chunk page by page as Parquet. */
export async function encodeRows(
  ctx: Context,
  chunk: ScanChunk,
  bulkExport: ExportRow,
  to: FileUpload,
  watch: Watch,
): Promise<FileContents> {
  const file = new ParquetFile(bulkExport, to, watch);
  await addRows(ctx, chunk, bulkExport, file);
  return file.finish();
}

/**
 * Reads the next page while the current one is encoded, except after a page of one row. Such a page may be much larger
 * than PAGE_BYTES, so the memory has no room for another one.
 */
export async function addRows(
  ctx: Context,
  chunk: ScanChunk,
  { filter }: ExportRow,
  file: ParquetFile,
): Promise<void> {
  const request = { columns: sourcesOf(file.columns), filter, max_bytes: PAGE_BYTES };
  const read = (after: Parameters<typeof scanChunk>[2]["after"]) =>
    scanChunk(ctx, chunk, { ...request, after });
  let coming = read(null);
  while (true) {
    const { parts, next } = await coming;
    const isLone = parts.reduce((rows, part) => rows + part.rows, 0) === 1;
    if (next !== null && !isLone) {
      coming = read(next);
      // Prevents an unhandled rejection before the next await.
      coming.catch(() => undefined);
    }
    for (const part of parts) await file.addRows(part);
    if (next === null) return;
    if (isLone) coming = read(next);
  }
}
