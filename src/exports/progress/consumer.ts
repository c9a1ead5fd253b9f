import { attemptFile, endLostAttempt } from "../files/file-attempt.ts";
import { claimFile, findLostAttempt } from "../files/file-lease.ts";
import type { ExportMessage, FileMessage } from "../messages.ts";
import { advanceExport } from "./advance.ts";

export async function consumeExport(env: Env, message: Omit<ExportMessage, "type">): Promise<void> {
  await advanceExport(env, message.bulk_export_id);
}

/** Idempotent: a duplicate message finds the file claimed or done. */
export async function consumeFile(
  env: Env,
  { bulk_export_file_id: id }: Omit<FileMessage, "type">,
): Promise<void> {
  const now = new Date();
  const file = await claimFile(env, id, now);
  if (file !== null) await attemptFile(env, file);
  const lost = file === null ? await findLostAttempt(env, id, now) : null;
  if (lost !== null) await endLostAttempt(env, lost);
  const ended = file ?? lost;
  if (ended !== null) await advanceExport(env, ended.bulk_export_id);
}
