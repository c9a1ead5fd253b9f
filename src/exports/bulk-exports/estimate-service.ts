import type { Context } from "../../shared/context.ts";
import { nowMicros } from "../../shared/times.ts";
import { estimateScan } from "../../traces/scan/estimate-service.ts";
import { assertMayExport } from "../access.ts";
import { countDays } from "../windows.ts";
import type { BulkExportEstimate, EstimateExportRequest } from "./estimate-schema.ts";
import { assertFilter, assertWindow } from "./new-export.ts";

/** Counts the runs that an export would have, or estimates them for a long range. */
export async function estimateExport(
  ctx: Context,
  { session_id, start_time, filter, ...input }: EstimateExportRequest,
): Promise<BulkExportEstimate> {
  assertMayExport(ctx, "read");
  const end_time = input.end_time ?? nowMicros();
  assertWindow({ start_time, end_time, interval_hours: null });
  assertFilter(filter ?? null);
  const range = { from_us: start_time, to_us: end_time };
  const found = await estimateScan(ctx, {
    project_id: session_id,
    filter: filter ?? null,
    ...range,
  });
  return { ...found, days: countDays({ start_us: start_time, end_us: end_time }) };
}
