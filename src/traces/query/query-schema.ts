import { z } from "@hono/zod-openapi";
import { AnyUuid, LaxBoolean, namedObject } from "../../shared/schema.ts";
import { toMicros } from "../../shared/times.ts";
import { RUN_TYPES } from "../ingest/ingest-schema.ts";
import { TraceRun } from "./run-schema.ts";

const Ids = z.array(AnyUuid).max(100);
const FilterText = z.string();
const MAX_V1_LIMIT = 100;
const MAX_V2_LIMIT = 1000;

const Moment = z
  .union([z.string(), z.number()])
  .transform((value, ctx) => {
    const micros = toMicros(value);
    if (micros !== null) return micros;
    ctx.addIssue("must be an ISO 8601 time");
    return z.NEVER;
  })
  .openapi({ type: "string", format: "date-time" });

const Shared = z.object({
  filter: FilterText.nullish().openapi({
    description: "Filter of the runs",
    example: 'and(eq(run_type, "llm"), gt(latency, 5))',
  }),
  trace_filter: FilterText.nullish().describe("Filter of the root runs of their traces"),
  tree_filter: FilterText.nullish().describe("Filter that any run of their traces must match"),
  is_root: LaxBoolean.nullish().describe("Whether to return only root runs, or only others"),
  cursor: z.string().nullish().describe("Cursor of the page"),
});

export const RunsQueryRequest = Shared.extend({
  id: Ids.nullish().describe("Ids of runs"),
  session: Ids.nullish().openapi({
    description: "Ids of projects",
    example: ["019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"],
  }),
  trace: AnyUuid.nullish().describe(
    "Id of the trace, with the runs of agents that its spans have called",
  ),
  parent_run: AnyUuid.nullish().describe("Id of the parent run"),
  run_type: z.enum(RUN_TYPES).nullish().describe("Type of the runs"),
  reference_example: Ids.nullish().describe("Ids of dataset examples"),
  execution_order: z.number().int().nullish().describe("`1` returns root runs"),
  query: z.string().nullish().describe("Words to search for, as `search(...)` in a filter"),
  search_filter: FilterText.nullish().describe(
    "Filter that runs must match in addition to `filter`",
  ),
  start_time: Moment.nullish().describe("Start time of the oldest run"),
  end_time: Moment.nullish().describe("Start time of the newest run"),
  error: LaxBoolean.nullish().describe("Whether the runs failed"),
  limit: z
    .number()
    .int()
    .min(1)
    .nullish()
    .transform((limit) => Math.min(limit ?? MAX_V1_LIMIT, MAX_V1_LIMIT))
    .describe("Maximum number of runs on a page"),
  select: z.array(z.string()).max(100).nullish().describe("Fields to return. Default: all"),
  order: z.enum(["asc", "desc"]).nullish().describe("Order by start time"),
}).openapi("RunsQuery");
export type RunsQueryRequest = z.infer<typeof RunsQueryRequest>;

const upperTypes = RUN_TYPES.map((type) => type.toUpperCase());

export const RunsQueryV2Request = Shared.extend({
  ids: Ids.nullish().describe("Ids of runs"),
  project_ids: Ids.nullish().openapi({
    description: "Ids of projects",
    example: ["019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"],
  }),
  trace_id: AnyUuid.nullish().describe("Id of the trace"),
  run_type: z
    .enum(upperTypes)
    .transform((type) => RUN_TYPES.find((one) => one.toUpperCase() === type))
    .nullish()
    .describe("Type of the runs"),
  reference_examples: Ids.nullish().describe("Ids of dataset examples"),
  min_start_time: Moment.nullish().describe(
    "Start time of the oldest run. Default: a day ago, any time with `ids`",
  ),
  max_start_time: Moment.nullish().describe("Start time of the newest run. Default: any time"),
  has_error: LaxBoolean.nullish().describe("Whether the runs failed"),
  page_size: z
    .number()
    .int()
    .min(1)
    .max(MAX_V2_LIMIT)
    .nullish()
    .describe("Maximum number of runs on a page"),
  selects: z.array(z.string()).max(100).nullish().describe("Fields to return. Default: the id"),
  sort_order: z.enum(["ASC", "DESC"]).nullish().describe("Order by start time"),
}).openapi("RunsQueryV2");
export type RunsQueryV2Request = z.infer<typeof RunsQueryV2Request>;

const Cursors = z.object({
  next: z
    .string()
    .nullable()
    .describe(
      "Cursor of the next page, `null` on the last. Each page before it has a run, and may have fewer than the limit",
    ),
  prev: z.string().nullable().describe("Always `null`"),
});

export const RunsPage = namedObject("RunsPage", {
  runs: z.array(TraceRun.partial()).describe("Runs of the page"),
  cursors: Cursors.describe("Cursors of the pages before and after"),
  search_cursors: z.null().describe("Always `null`"),
  parsed_query: z.string().nullable().describe("Always `null`"),
});
export type RunsPage = z.infer<typeof RunsPage>;

export const RunsPageV2 = namedObject("RunsPageV2", {
  items: z.array(z.record(z.string(), z.unknown())).openapi({
    description: "Runs of the page",
    example: [{ id: "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071", name: "agent", run_type: "CHAIN" }],
  }),
  has_more: z.boolean().describe("Whether there is another page"),
  next_cursor: z
    .string()
    .nullable()
    .describe(
      "Cursor of the next page, `null` on the last. Each page before it has a run, and may have fewer than the limit",
    ),
});
export type RunsPageV2 = z.infer<typeof RunsPageV2>;
