import { sendAllOrLeave } from "../shared/work/queue.ts";

/** Advances an export: plans it, sends its files, finishes it. */
export type ExportMessage = { type: "export"; bulk_export_id: string };
export type FileMessage = { type: "export_file"; bulk_export_file_id: string };

export function sendExports(env: Env, ids: readonly string[]): Promise<void> {
  const messages = ids.map((bulk_export_id) => ({ type: "export", bulk_export_id }) as const);
  return sendAllOrLeave<ExportMessage>(env.EXPORTS, messages);
}

export function sendFiles(env: Env, ids: readonly string[], delay_s = 0): Promise<void> {
  const messages = ids.map(
    (bulk_export_file_id) => ({ type: "export_file", bulk_export_file_id }) as const,
  );
  return sendAllOrLeave<FileMessage>(env.EXPORTS, messages, delay_s);
}
