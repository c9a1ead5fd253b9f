import type { BulkExportPreview } from "../../../exports/preview/preview-schema.ts";

type PreviewValue = BulkExportPreview["rows"][number]["values"][string];

/** A value of a row as text; an absent one is empty. */
export function cellText(value: PreviewValue | undefined): string {
  if (value === null || value === undefined) return "";
  return Array.isArray(value) ? JSON.stringify(value) : String(value);
}
