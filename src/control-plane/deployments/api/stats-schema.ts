import { z } from "@hono/zod-openapi";
import { namedObject, Timestamp, Uuid } from "../../../shared/schema.ts";

export const STATS_PERIODS = ["hour", "day", "week"] as const;

export const DeploymentStatsQuery = z.object({
  period: z.enum(STATS_PERIODS).default("day").describe("Length of the time that ends now"),
});
export type DeploymentStatsQuery = z.infer<typeof DeploymentStatsQuery>;

const Seconds = z.number().nullable();

export const DeploymentStats = namedObject("DeploymentStats", {
  start_time: Timestamp.describe("Start of the period"),
  end_time: Timestamp.describe("End of the period"),
  revisions: z
    .array(
      z.object({
        revision_id: Uuid.describe("Id of the revision"),
        run_count: z.number().int().describe("Number of runs that began in the period"),
        error_count: z.number().int().describe("Number of these that failed"),
        error_rate: z.number().nullable().describe("Share of these that failed, 0 to 1"),
        latency_p50: Seconds.describe("Median duration in seconds"),
        latency_p99: Seconds.describe("99th percentile of the duration in seconds"),
        last_run_start_time: Timestamp.nullable().describe("Start time of the newest run"),
      }),
    )
    .describe("Revisions that had runs, the most runs first"),
});
export type DeploymentStats = z.infer<typeof DeploymentStats>;
