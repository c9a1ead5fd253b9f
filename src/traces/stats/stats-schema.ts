import { z } from "@hono/zod-openapi";
import { textField } from "../../shared/schema.ts";
import { RunsQueryRequest } from "../query/query-schema.ts";
import { RunSeries, Stride } from "./series-schema.ts";
import { TraceStats } from "./trace-stats-schema.ts";

const DEFAULT_GROUPS = 5;
const MAX_GROUPS = 100;

const GroupBy = z
  .object({
    attribute: z
      .enum(["name", "run_type", "status", "tag", "metadata"])
      .describe("Attribute to group by"),
    path: z.string().nullish().describe("Key of the metadata, for the attribute `metadata`"),
    max_groups: z
      .number()
      .int()
      .min(1)
      .max(MAX_GROUPS)
      .default(DEFAULT_GROUPS)
      .describe("Maximum number of groups"),
  })
  .refine(({ attribute, path }) => attribute !== "metadata" || Boolean(path), {
    path: ["path"],
    error: 'required with attribute "metadata": the key of the metadata',
  });

export const RunStatsRequest = RunsQueryRequest.omit({
  cursor: true,
  limit: true,
  order: true,
})
  .extend({
    group_by: GroupBy.nullish().describe("Returns statistics for each group. Default: one set"),
    stride: Stride.nullish().describe(
      "Returns a time series in buckets of this length, which needs `start_time`",
    ),
  })
  .openapi("RunStatsQuery");
export type RunStatsRequest = z.infer<typeof RunStatsRequest>;

const Tokens = z.number().nullable();
/** Decimal as text, with up to 12 places. */
const Cost = z.string().nullable();

export const RunStats = TraceStats.extend({
  median_tokens: Tokens.describe("Median number of tokens"),
  prompt_tokens_p50: Tokens.describe("Median number of prompt tokens"),
  completion_tokens_p50: Tokens.describe("Median number of completion tokens"),
  tokens_p99: Tokens.describe("99th percentile of the number of tokens"),
  prompt_tokens_p99: Tokens.describe("99th percentile of the number of prompt tokens"),
  completion_tokens_p99: Tokens.describe("99th percentile of the number of completion tokens"),
  cost_p50: Cost.describe("Median cost in US dollars"),
  cost_p99: Cost.describe("99th percentile of the cost in US dollars"),
  run_facets: z
    .array(
      z.object({
        key: textField("Attribute", "name"),
        value: textField("Value", "agent"),
        query: textField("Filter that matches the value", 'eq(name, "agent")'),
        n: z.number().int().describe("Number of runs"),
      }),
    )
    .describe(
      "Most frequent values of `name`, `run_type` and `status`, with filters that match them. Of the first 1000 values of an attribute that a partition of a day finds, the 50 most frequent count",
    ),
}).openapi("RunStats", {
  description:
    "Counts and sums of runs are exact; with `group_by`, of the first 10,000 groups that a partition of a day finds, the 1000 largest count. Percentiles are exact for up to 200 runs, and at most half a per cent off for more",
});
export type RunStats = z.infer<typeof RunStats>;

/** Statistics of one set of runs, by group with `group_by`, by time with `stride`. */
export const RunStatsAnswer = z.union([
  RunSeries,
  RunStats.partial(),
  z.record(z.string(), RunStats.partial()),
]);
export type RunStatsAnswer = z.infer<typeof RunStatsAnswer>;
