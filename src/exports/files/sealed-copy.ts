import type { Context } from "../../shared/context.ts";
import { sha256Hex } from "../../shared/crypto/crypto.ts";
import { log } from "../../shared/log.ts";
import type { ScanChunk } from "../../traces/scan/scan-service.ts";
import {
  findSealed,
  readSealed,
  type SealedFile,
  type SealedLookup,
} from "../../traces/scan/sealed-service.ts";
import { COLUMNS, type Column, selectColumns } from "../columns.ts";
import { PART_BYTES } from "../limits.ts";
import { chunkRange } from "../parquet/chunk.ts";
import { readGroups, selectChunks } from "../parquet/footer.ts";
import { isS3Error } from "../s3/problem.ts";
import type { ExportRow } from "../table.ts";
import { type ByteRange, planReads, readInOrder } from "./byte-ranges.ts";
import { type CopyStep, planCopy, type SealedGroups } from "./copy-plan.ts";
import { addRows } from "./encoded-file.ts";
import type { FileContents, Watch } from "./file-lease.ts";
import { ParquetFile } from "./parquet-file.ts";
import type { FileUpload } from "./upload.ts";

const SEALED_COMPRESSION = "zstandard";

/**
 * Identifies the compression and the columns of sealed files. Files with other columns, of another release, are not
 * copied.
 */
export const SEALED_LAYOUT = sha256Hex(JSON.stringify([SEALED_COMPRESSION, COLUMNS]));

/** Codes with which servers refuse a body that does not match its digest. */
const WRONG_DIGEST = ["BadDigest", "XAmzContentSHA256Mismatch"];

/** The rows of a sealed file changed since it was found. */
class SealedFileGone extends Error {
  override name = "SealedFileGone";
}

/** Whether the rows have to be encoded: the sealed file is gone, or its bytes are not those that were sealed. */
export function isUnusable(error: unknown): boolean {
  return error instanceof SealedFileGone || isS3Error(error, WRONG_DIGEST);
}

/** Whether an export can copy from sealed files: it has no filter, and their compression. */
export function canCopy({ filter, compression }: ExportRow): boolean {
  return (filter === null || filter.trim() === "") && compression === SEALED_COMPRESSION;
}

export function hasAllColumns({ export_fields }: ExportRow): boolean {
  return selectColumns(export_fields).length === COLUMNS.length;
}

export type Copy = (to: FileUpload, watch: Watch) => Promise<FileContents>;
type CopySource = { ctx: Context; chunk: ScanChunk; bulkExport: ExportRow };

/** @returns `null` when sealed files have no row group of the chunk */
export async function planSealedCopy(
  of: CopySource,
  { file, parts }: SealedLookup,
): Promise<Copy | null> {
  if (file !== null && hasAllColumns(of.bulkExport)) {
    return checked(of, [file], (to, watch) => copyWhole(of.ctx, file, to, watch));
  }
  const groups = await readFooters(of.ctx, file === null ? parts : [file]);
  const steps = planCopy(of.chunk, groups);
  const copied = steps.flatMap((step) => ("rows" in step ? [] : [step.file]));
  if (copied.length === 0) return null;
  return checked(of, copied, (to, watch) => copyGroups(of, steps, to, watch));
}

/**
 * Looks the files up again after the last byte, before the object is complete. The deletion of a run drops its sealed
 * files at once, but their objects stay readable until the alarm. A file with a deleted run must not be completed.
 */
function checked({ ctx, chunk, bulkExport }: CopySource, files: SealedFile[], copy: Copy): Copy {
  return async (to, watch) => {
    const contents = await copy(to, watch);
    const { parts } = await findSealed(ctx, chunk, SEALED_LAYOUT, bulkExport.id);
    const keys = new Set(parts.map(({ key }) => key));
    for (const { key } of files) if (!keys.has(key)) throw new SealedFileGone(key);
    return contents;
  };
}

/** Reads the footers of files. Omits a file whose footer cannot be read: its rows are encoded. */
async function readFooters(ctx: Context, files: readonly SealedFile[]): Promise<SealedGroups[]> {
  const found: SealedGroups[] = [];
  for (const file of files) {
    try {
      const groups = await readGroups(file.bytes, (range) => read(ctx, file, range));
      found.push({ file, groups });
    } catch (error) {
      log.warn("sealed_file_not_copied", { key: file.key, reason: String(error) });
    }
  }
  return found;
}

/** Sends the bytes of a sealed file with the digests from its sealing, by which the server checks them. */
async function copyWhole(
  ctx: Context,
  sealed: SealedFile,
  to: FileUpload,
  { written, signal }: Watch,
): Promise<FileContents> {
  const { rows, bytes, sha256, min_start_us, max_start_us } = sealed;
  to.digests.push(...sealed.digests);
  for (let at = 0; at < bytes; at += PART_BYTES) {
    signal.throwIfAborted();
    const part = await read(ctx, sealed, [at, at + PART_BYTES]);
    await to.write(part);
    written.bytes_written += part.byteLength;
    written.rows_written = Math.floor((rows * written.bytes_written) / bytes);
  }
  return { ...written, sha256, min_start_us, max_start_us };
}

/** Sends column chunks of row groups without decoding them, and encodes the rows between them. */
async function copyGroups(
  { ctx, bulkExport }: CopySource,
  steps: readonly CopyStep[],
  to: FileUpload,
  watch: Watch,
): Promise<FileContents> {
  const target = new ParquetFile(bulkExport, to, watch);
  for (const step of steps) {
    if ("rows" in step) {
      await addRows(ctx, step.rows, bulkExport, target);
      continue;
    }
    const reads = planReads(rangesOf(step, target.columns));
    const pieces = readInOrder(reads, (range) => read(ctx, step.file, range));
    await target.addGroups(step.groups, pieces);
  }
  return target.finish();
}

function rangesOf({ groups }: SealedGroups, columns: readonly Column[]): ByteRange[] {
  return groups.flatMap(({ group }) => selectChunks(group, columns).columns.map(chunkRange));
}

async function read(
  ctx: Context,
  file: SealedFile,
  range: ByteRange,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readSealed(ctx, file, range);
  if (bytes === null) throw new SealedFileGone(file.key);
  return bytes;
}
