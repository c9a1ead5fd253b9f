import { MemoryBudget } from "../../shared/work/memory-budget.ts";
import { attemptFile } from "../files/file-attempt.ts";
import { claimFile, readOpenRows } from "../files/file-lease.ts";
import { MAX_WRITER_BYTES, SMALL_WRITERS_BYTES, WRITER_BYTES_PER_ROW } from "../limits.ts";
import { type ExportMessage, type FileMessage, sendFiles } from "../messages.ts";
import { advanceExport } from "./advance.ts";

/** Admits one writer of a large file in an isolate at a time, beside small ones. */
const WRITERS = new MemoryBudget(SMALL_WRITERS_BYTES);
/** The message may reach another isolate. */
const BUSY_RETRY_S = 2;

export async function consumeExport(env: Env, message: Omit<ExportMessage, "type">): Promise<void> {
  await advanceExport(env, message.bulk_export_id);
}

/** Idempotent: a duplicate message finds the file claimed or done. Waits until the isolate has memory for a writer. */
export async function consumeFile(env: Env, message: Omit<FileMessage, "type">): Promise<void> {
  const { bulk_export_file_id: id } = message;
  const rows = await readOpenRows(env, id);
  if (rows === null) return;
  const bytes = Math.min(rows * WRITER_BYTES_PER_ROW, MAX_WRITER_BYTES);
  let isAdmitted = false;
  try {
    const bulk_export_id = await WRITERS.hold(async (reserve) => {
      await reserve(bytes);
      isAdmitted = true;
      return writeClaimed(env, id);
    });
    if (bulk_export_id !== null) await advanceExport(env, bulk_export_id);
  } catch (error) {
    if (isAdmitted) throw error;
    await sendFiles(env, [id], BUSY_RETRY_S);
  }
}

/** @returns the export of the file, `null` when another attempt has it */
async function writeClaimed(env: Env, id: string): Promise<string | null> {
  const file = await claimFile(env, id, new Date());
  if (file === null) return null;
  await attemptFile(env, file);
  return file.bulk_export_id;
}
