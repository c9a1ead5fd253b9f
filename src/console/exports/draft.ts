/** Columns of the exported files, in their order. */
export const EXPORT_FIELDS = [
  "id",
  "tenant_id",
  "session_id",
  "trace_id",
  "parent_run_id",
  "parent_run_ids",
  "reference_example_id",
  "name",
  "run_type",
  "start_time",
  "end_time",
  "status",
  "is_root",
  "dotted_order",
  "trace_tier",
  "inputs",
  "outputs",
  "error",
  "extra",
  "events",
  "tags",
  "feedback_stats",
  "total_tokens",
  "prompt_tokens",
  "completion_tokens",
  "total_cost",
  "prompt_cost",
  "completion_cost",
  "first_token_time",
] as const;

export const COMPRESSIONS = ["zstandard", "gzip", "snappy", "none"] as const;
/** Choice of a bucket that is created with the export. */
export const NEW_BUCKET = "new";

export type BucketDraft = {
  display_name: string;
  bucket_name: string;
  prefix: string;
  region: string;
  endpoint_url: string;
  access_key_id: string;
  secret_access_key: string;
};

export type ExportDraft = {
  project: string;
  filter: string;
  when: "once" | "schedule";
  /**
   * Bounds as the fields of the page have them, in UTC: `2026-11-28T04:10`. An empty `until` is now. A schedule does
   * not use `until`.
   */
  from: string;
  until: string;
  /** Hours between two windows of a schedule, as typed. */
  hours: string;
  late_rows: boolean;
  is_table: boolean;
  /** Id of the destination, or `NEW_BUCKET`. */
  destination: string;
  fields: string[];
  compression: (typeof COMPRESSIONS)[number];
  format_version: "v2_beta" | "v1";
};

export const EMPTY_BUCKET: BucketDraft = {
  display_name: "",
  bucket_name: "",
  prefix: "heddle",
  region: "",
  endpoint_url: "",
  access_key_id: "",
  secret_access_key: "",
};

const DAY_MS = 24 * 60 * 60 * 1000;
const DEFAULT_DAYS = 7;

type Prefill = {
  project?: string | undefined;
  filter?: string | undefined;
  when?: ExportDraft["when"] | undefined;
};

/** Returns a draft for all runs since the start of the UTC day seven days ago. */
export function emptyDraft(
  { project = "", filter = "", when = "once" }: Prefill,
  now = new Date(),
): ExportDraft {
  const today = now.toISOString().slice(0, 10);
  return {
    project,
    filter,
    when,
    from: toField(new Date(Date.parse(today) - DEFAULT_DAYS * DAY_MS)),
    until: "",
    hours: "24",
    late_rows: true,
    is_table: false,
    destination: "",
    fields: [...EXPORT_FIELDS],
    compression: "zstandard",
    format_version: "v2_beta",
  };
}

function toField(at: Date): string {
  return at.toISOString().slice(0, 16);
}

/** @returns an ISO time, `null` for a field that is empty or not a time */
export function toTime(field: string): string | null {
  const at = new Date(`${field}Z`);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** Returns the request of an export. `export_fields` is `null` when all are chosen. */
export function toExportRequest(
  draft: ExportDraft,
  bulk_export_destination_id: string,
  now = new Date(),
) {
  const { project, filter, when, from, until, fields, ...format } = draft;
  const isOnce = when === "once";
  return {
    bulk_export_destination_id,
    session_id: project,
    start_time: toTime(from),
    ...(isOnce ? { end_time: toTime(until) ?? now.toISOString() } : toSchedule(draft)),
    filter: filter.trim() || null,
    export_fields: fields.length === EXPORT_FIELDS.length ? null : fields,
    format_version: format.format_version,
    compression: format.compression,
  };
}

function toSchedule({ hours, late_rows, is_table }: ExportDraft) {
  const schedule = { interval_hours: Number(hours), late_rows };
  return is_table ? { ...schedule, table_format: "iceberg" } : schedule;
}

/**
 * @returns the request of an estimate, `null` while the draft lacks a project or a start. Without an end it counts
 * until now.
 */
export function toEstimate({ project, filter, when, from, until }: ExportDraft) {
  const start_time = toTime(from);
  if (project === "" || start_time === null) return null;
  const end_time = when === "once" ? toTime(until) : null;
  return { session_id: project, start_time, end_time, filter: filter.trim() || null };
}

/** Characters that a display name may not have, such as the dots of a bucket's name. */
const NOT_IN_NAMES = /[^a-zA-Z0-9\-_ ']/g;

/** Returns the request of a destination. Its name is that of the bucket when none is typed. */
export function toDestination({ display_name, ...draft }: BucketDraft) {
  const name = display_name.trim() || draft.bucket_name.trim().replace(NOT_IN_NAMES, "-");
  return { display_name: name, ...toProbe(draft) };
}

/** Returns the request of a probe. */
export function toProbe(draft: Omit<BucketDraft, "display_name">) {
  const { bucket_name, prefix, region, endpoint_url, access_key_id, secret_access_key } = draft;
  return {
    destination_type: "s3",
    config: {
      bucket_name: bucket_name.trim(),
      prefix: prefix.trim(),
      region: region.trim() || null,
      endpoint_url: endpoint_url.trim() || null,
    },
    credentials: {
      access_key_id: access_key_id.trim(),
      secret_access_key: secret_access_key.trim(),
    },
  };
}

const MIN_BUCKET = 3;

/** Whether a probe can be made: a bucket and both keys. */
export function canProbe({ bucket_name, access_key_id, secret_access_key }: BucketDraft): boolean {
  return (
    bucket_name.trim().length >= MIN_BUCKET &&
    access_key_id.trim() !== "" &&
    secret_access_key.trim() !== ""
  );
}
