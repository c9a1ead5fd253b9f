import { carries } from "../../shared/work/queue.ts";
import { attemptFile } from "../files/file-attempt.ts";
import { claimFile } from "../files/file-lease.ts";
import { advanceExport } from "./advance.ts";

/** Advances an export: plans it, sends its files, finishes it. */
export type ExportMessage = { bulk_export_id: string };
/** Writes one file. */
export type FileMessage = { bulk_export_file_id: string };

export function isExportMessage(body: unknown): body is ExportMessage {
  return carries(body, "bulk_export_id");
}

export function isFileMessage(body: unknown): body is FileMessage {
  return carries(body, "bulk_export_file_id");
}

export async function consumeExport(env: Env, message: ExportMessage): Promise<void> {
  await advanceExport(env, message.bulk_export_id);
}

/** Idempotent: a duplicate message finds the file claimed or done. */
export async function consumeFile(env: Env, message: FileMessage): Promise<void> {
  const file = await claimFile(env, message.bulk_export_file_id, new Date());
  if (file === null) return;
  await attemptFile(env, file);
  await advanceExport(env, file.bulk_export_id);
}
