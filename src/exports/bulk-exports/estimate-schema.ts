import { z } from "@hono/zod-openapi";
import { namedObject } from "../../shared/schema.ts";
import { BulkExportCreateRequest } from "../schema.ts";

export const EstimateExportRequest = BulkExportCreateRequest.pick({
  session_id: true,
  start_time: true,
  end_time: true,
  filter: true,
}).openapi("BulkExportEstimateCreate");
export type EstimateExportRequest = z.infer<typeof EstimateExportRequest>;

export const BulkExportEstimate = namedObject("BulkExportEstimate", {
  rows: z.number().int().describe("Number of runs"),
  bytes: z
    .number()
    .int()
    .describe("Size of the runs with their payloads, before compression. Always an estimate"),
  days: z.number().int().describe("Number of UTC days in the time range"),
  is_exact: z
    .boolean()
    .describe(
      "Whether all runs were counted. For a long range, the number is estimated by a sample",
    ),
});
export type BulkExportEstimate = z.infer<typeof BulkExportEstimate>;
