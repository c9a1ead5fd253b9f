import { carries } from "../shared/work/queue.ts";

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
