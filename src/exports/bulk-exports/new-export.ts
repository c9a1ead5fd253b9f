import type { Context } from "../../shared/context.ts";
import { type Issue, invalid } from "../../shared/errors.ts";
import { DAY_US, nowMicros } from "../../shared/times.ts";
import { assertProject } from "../../traces/projects/service.ts";
import { validateFilters } from "../../traces/query/filter-service.ts";
import { COLUMNS } from "../columns.ts";
import { baseOf } from "../destinations/base.ts";
import { getDestination } from "../destinations/service.ts";
import { MAX_DAYS } from "../limits.ts";
import type { BulkExportCreateRequest } from "../schema.ts";
import type { ExportRow } from "../table.ts";
import { countDays } from "../windows.ts";

/** Validated request of an export. */
export type NewExport = Pick<
  ExportRow,
  | "bulk_export_destination_id"
  | "session_id"
  | "key_base"
  | "start_us"
  | "end_us"
  | "interval_hours"
  | "filter"
  | "export_fields"
  | "format_version"
  | "compression"
  | "late_rows"
  | "table_format"
>;

export async function readNewExport(
  ctx: Context,
  input: BulkExportCreateRequest,
): Promise<NewExport> {
  assertWindow(input);
  assertTable(input);
  assertFields(input.export_fields ?? null);
  assertFilter(input.filter ?? null);
  const { config } = await getDestination(ctx, input.bulk_export_destination_id);
  await assertProject(ctx, input.session_id);
  return {
    bulk_export_destination_id: input.bulk_export_destination_id,
    session_id: input.session_id,
    key_base: baseOf(config),
    start_us: input.start_time,
    end_us: input.end_time ?? null,
    interval_hours: input.interval_hours ?? null,
    filter: input.filter ?? null,
    export_fields: input.export_fields ?? null,
    format_version: input.format_version ?? "v1",
    compression: input.compression ?? "zstandard",
    late_rows: input.late_rows ?? false,
    table_format: input.table_format ?? null,
  };
}

const MAX_AHEAD_US = 3653 * DAY_US;

export function assertWindow({
  start_time,
  end_time,
  interval_hours,
}: Pick<BulkExportCreateRequest, "start_time" | "end_time" | "interval_hours">): void {
  if (end_time == null && interval_hours == null) {
    throw wrong("end_time", "required, unless interval_hours is set");
  }
  if (end_time == null) {
    if (start_time <= nowMicros() + MAX_AHEAD_US) return;
    throw wrong("start_time", "must be at most ten years ahead");
  }
  if (interval_hours != null) {
    throw wrong("end_time", "must be absent with interval_hours: a schedule has no end");
  }
  if (end_time <= start_time) throw wrong("end_time", "must be after start_time");
  if (countDays({ start_us: start_time, end_us: end_time }) > MAX_DAYS) {
    throw wrong(
      "end_time",
      `must leave a range that touches at most ${MAX_DAYS} days in UTC: create several exports`,
    );
  }
}

function assertTable({ table_format, interval_hours }: BulkExportCreateRequest): void {
  if (table_format == null || interval_hours != null) return;
  const text = "must be absent without interval_hours: only the windows of a schedule make a table";
  throw wrong("table_format", text);
}

function assertFields(fields: string[] | null): void {
  if (fields === null) return;
  if (fields.length === 0) {
    throw wrong("export_fields", "must have at least one field; leave it out for all fields");
  }
  const known = COLUMNS.map(({ name }) => name);
  const unknown = fields.filter((field) => !known.includes(field));
  if (unknown.length === 0) return;
  const text = `unknown fields ${unknown.join(", ")}; fields: ${known.join(", ")}`;
  throw wrong("export_fields", text);
}

export function assertFilter(filter: string | null): void {
  const [problem] = validateFilters({ filter }).errors;
  if (problem) throw wrong("filter", problem.message);
}

function wrong(field: string, text: string): Error {
  return invalid(["body", field] satisfies Issue["loc"], text);
}
