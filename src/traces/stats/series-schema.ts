import { z } from "@hono/zod-openapi";
import { namedObject, Timestamp } from "../../shared/schema.ts";
import { TraceStats } from "./trace-stats-schema.ts";

const MAX_UNITS = 10_000;

export const Stride = z
  .object({
    unit: z.enum(["SECOND", "MINUTE", "HOUR", "DAY"]).describe("Unit of time"),
    value: z.number().int().min(1).max(MAX_UNITS).describe("Number of units in a bucket"),
  })
  .openapi({ example: { unit: "MINUTE", value: 5 } });
export type Stride = z.infer<typeof Stride>;

const Wait = z.number().nullable();
const OF_ROOTS = "From `queue_wait_ms` in the metadata of root runs; `null` when none has it";

const Figures = TraceStats.pick({
  run_count: true,
  error_rate: true,
  latency_p50: true,
  latency_p99: true,
  first_token_p50: true,
  first_token_p99: true,
  total_tokens: true,
  prompt_tokens: true,
  completion_tokens: true,
  total_cost: true,
}).extend({
  error_count: z.number().int().describe("Number of runs that failed"),
  queue_wait_p50: Wait.describe(
    `Median time in seconds that runs waited before their start. ${OF_ROOTS}`,
  ),
  queue_wait_p99: Wait.describe(`99th percentile of that time in seconds. ${OF_ROOTS}`),
  queue_length: z
    .number()
    .nullable()
    .describe("Mean number of runs that waited, counted at the time of their start"),
});

const Bucket = Figures.extend({
  start_time: Timestamp.describe("Start of the bucket, a multiple of the stride since 1970"),
});
export type SeriesBucket = z.infer<typeof Bucket>;

const Series = z.object({
  group: z.string().nullable().openapi({
    description: "Value of the group, `null` for all runs, or for those of all other groups",
    example: "agent",
  }),
  is_rest: z.boolean().describe("Whether it has the runs that belong to no listed group"),
  totals: Figures.describe("Figures of the whole series"),
  buckets: z.array(Bucket).describe("Buckets that have runs, the oldest first"),
});

export const RunSeries = namedObject("RunSeries", {
  start_time: Timestamp.describe("Start of the first bucket"),
  end_time: Timestamp.describe("End of the last bucket"),
  stride_seconds: z.number().int().describe("Length of a bucket"),
  series: z
    .array(Series)
    .describe("Series of the largest groups, then one of the rest if it has runs"),
});
export type RunSeries = z.infer<typeof RunSeries>;
