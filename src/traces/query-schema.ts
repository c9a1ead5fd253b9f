import { z } from "@hono/zod-openapi";
import { toMicros } from "../shared/times.ts";
import { RUN_TYPES } from "./ingest-schema.ts";
import { TraceRun } from "./run-schema.ts";

const Id = z.guid("must be a UUID").toLowerCase();
const Ids = z.array(Id).max(100);
const FilterText = z.string();
const MAX_V1_LIMIT = 100;
const MAX_V2_LIMIT = 1000;

const Moment = z
  .union([z.string(), z.number()])
  .transform((value, ctx) => {
    const micros = toMicros(value);
    if (micros !== null) return micros;
    ctx.addIssue("must be ISO 8601 text");
    return z.NEVER;
  })
  .openapi({ type: "string", format: "date-time" });

const Shared = z.object({
  filter: FilterText.nullish(),
  trace_filter: FilterText.nullish(),
  tree_filter: FilterText.nullish(),
  is_root: z.boolean().nullish(),
  cursor: z.string().nullish(),
});

export const RunsQueryRequest = Shared.extend({
  id: Ids.nullish(),
  session: Ids.nullish(),
  trace: Id.nullish(),
  parent_run: Id.nullish(),
  run_type: z.enum(RUN_TYPES).nullish(),
  reference_example: Ids.nullish(),
  execution_order: z.number().int().nullish(),
  query: z
    .string()
    .nullish()
    .openapi({ description: "Words to find, as `search(...)` of a filter." }),
  search_filter: FilterText.nullish().openapi({ description: "Holds together with `filter`." }),
  start_time: Moment.nullish(),
  end_time: Moment.nullish(),
  error: z.boolean().nullish(),
  limit: z
    .number()
    .int()
    .min(1)
    .nullish()
    .transform((limit) => Math.min(limit ?? MAX_V1_LIMIT, MAX_V1_LIMIT)),
  select: z.array(z.string()).max(100).nullish(),
  order: z.enum(["asc", "desc"]).nullish(),
}).openapi("RunsQuery");
export type RunsQueryRequest = z.infer<typeof RunsQueryRequest>;

const upperTypes = RUN_TYPES.map((type) => type.toUpperCase());

export const RunsQueryV2Request = Shared.extend({
  ids: Ids.nullish(),
  project_ids: Ids.nullish(),
  trace_id: Id.nullish(),
  run_type: z
    .enum(upperTypes)
    .transform((type) => RUN_TYPES.find((one) => one.toUpperCase() === type))
    .nullish(),
  reference_examples: Ids.nullish(),
  min_start_time: Moment.nullish(),
  max_start_time: Moment.nullish(),
  has_error: z.boolean().nullish(),
  page_size: z.number().int().min(1).max(MAX_V2_LIMIT).nullish(),
  selects: z.array(z.string()).max(100).nullish(),
  sort_order: z.enum(["ASC", "DESC"]).nullish(),
}).openapi("RunsQueryV2");
export type RunsQueryV2Request = z.infer<typeof RunsQueryV2Request>;

const Cursors = z.object({ next: z.string().nullable(), prev: z.string().nullable() });

export const RunsPage = z
  .object({
    runs: z.array(TraceRun.partial()),
    cursors: Cursors,
    search_cursors: z.null(),
    parsed_query: z.string().nullable(),
  })
  .openapi("RunsPage");
export type RunsPage = z.infer<typeof RunsPage>;

export const RunsPageV2 = z
  .object({
    items: z.array(z.record(z.string(), z.unknown())),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  })
  .openapi("RunsPageV2");
export type RunsPageV2 = z.infer<typeof RunsPageV2>;
