import { attemptFile } from "../files/file-attempt.ts";
import { claimFile } from "../files/file-lease.ts";
import type { ExportMessage, FileMessage } from "../messages.ts";
import { advanceExport } from "./advance.ts";

export async function consumeExport(env: Env, message: Omit<ExportMessage, "type">): Promise<void> {
  await advanceExport(env, message.bulk_export_id);
}

/** Idempotent: a duplicate message finds the file claimed or done. */
export async function consumeFile(env: Env, message: Omit<FileMessage, "type">): Promise<void> {
  const file = await claimFile(env, message.bulk_export_file_id, new Date());
  if (file === null) return;
  await attemptFile(env, file);
  await advanceExport(env, file.bulk_export_id);
}
