import { z } from "@hono/zod-openapi";
import { AnyUuid, namedObject, queryLimit, Timestamp, textField } from "../../shared/schema.ts";
import { RunsPageV2, RunsQueryV2Request } from "../query/query-schema.ts";

const PAGE_SIZE = 20;
const MAX_PAGE_SIZE = 100;
const MAX_CURSOR_CHARS = 4096;
const MAX_SELECTS = 100;

const THREAD_ID = {
  description: "Id of the thread",
  example: "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071",
};

const unsupported = (name: string) =>
  z.null({ error: `is not supported: use filter instead of ${name}` }).optional();

const Filters = RunsQueryV2Request.pick({ filter: true, trace_filter: true, tree_filter: true });

const Window = Filters.extend({
  project_id: AnyUuid.describe("Id of the project"),
  min_start_time: RunsQueryV2Request.shape.min_start_time.describe(
    "Start time of the oldest trace. Default: a day ago",
  ),
  max_start_time: RunsQueryV2Request.shape.max_start_time.describe(
    "Start time of the newest trace. Default: any time",
  ),
  thread_filter: unsupported("thread_filter").describe("Not supported"),
});

export const ThreadsQueryRequest = Window.extend({
  max_start_time: Window.shape.max_start_time.describe(
    "Start time of the newest trace. Default: now",
  ),
  ai_search: unsupported("ai_search").describe("Not supported"),
  cursor: z.string().max(MAX_CURSOR_CHARS).nullish().describe("Cursor of the page"),
  page_size: z
    .number()
    .int()
    .min(1)
    .max(MAX_PAGE_SIZE)
    .nullish()
    .transform((size) => size ?? PAGE_SIZE)
    .describe("Maximum number of threads on a page"),
}).openapi("TraceThreadsQuery");
export type ThreadsQueryRequest = z.infer<typeof ThreadsQueryRequest>;

export const ThreadStatsRequest = Window.extend({
  select: z
    .array(z.string())
    .min(1)
    .max(MAX_SELECTS)
    .openapi({
      description: "Statistics to return",
      example: ["THREAD_COUNT", "TOTAL_TOKENS"],
    }),
}).openapi("TraceThreadsStatsQuery");
export type ThreadStatsRequest = z.infer<typeof ThreadStatsRequest>;

const Cost = z.number().nullable();
const traceId = (which: "first" | "last") =>
  textField(`Id of the ${which} trace`, "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6072");
const Seconds = z.number().nullable();

export const TraceThreadItem = namedObject("TraceThread", {
  thread_id: z.string().openapi(THREAD_ID),
  trace_id: traceId("last"),
  first_trace_id: traceId("first"),
  last_trace_id: traceId("last"),
  count: z.number().int().describe("Number of traces"),
  num_errored_turns: z.number().int().describe("Number of traces that failed"),
  start_time: Timestamp.describe("Start time of the last trace"),
  min_start_time: Timestamp.describe("Start time of the first trace"),
  max_start_time: Timestamp.describe("Start time of the last trace"),
  latency_p50: Seconds.describe("Median duration in seconds"),
  latency_p99: Seconds.describe("99th percentile of the duration in seconds"),
  total_tokens: z.number().int().describe("Number of tokens"),
  total_cost: Cost.describe("Cost in US dollars"),
  first_inputs: textField("Beginning of the first inputs", "Hello"),
  last_outputs: textField("Beginning of the last outputs", "How can I help?"),
  last_error: z
    .string()
    .nullable()
    .describe("Beginning of the error of the last trace, `null` without one"),
});

export const ThreadsPage = namedObject("TraceThreadsPage", {
  items: z.array(TraceThreadItem).describe("Threads, the most recently active first"),
  has_more: z.boolean().describe("Whether there is another page"),
  next_cursor: z.string().nullable().describe("Cursor of the next page, `null` on the last"),
});
export type ThreadsPage = z.infer<typeof ThreadsPage>;

export const ThreadParams = z.object({
  thread_id: z.string().min(1).max(MAX_CURSOR_CHARS).openapi(THREAD_ID),
});

const Selects = z.union([
  z.string().transform((name) => [name]),
  z.array(z.string()).max(MAX_SELECTS),
]);

export const ThreadTracesQuery = Filters.extend({
  project_id: AnyUuid.describe("Id of the project"),
  selects: Selects.optional().describe("Fields to return. Default: all without inputs and outputs"),
  cursor: z.string().max(MAX_CURSOR_CHARS).optional().describe("Cursor of the page"),
  page_size: queryLimit("traces", MAX_PAGE_SIZE, PAGE_SIZE),
}).strict();
export type ThreadTracesQuery = z.infer<typeof ThreadTracesQuery>;

export const ThreadTraces = RunsPageV2.extend({
  items: z.array(z.record(z.string(), z.unknown())).openapi({
    description: "Traces of the page, the oldest first",
    example: [{ trace_id: "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071", name: "agent", latency: 1.5 }],
  }),
}).openapi("ThreadTraces");

export const OneThreadStatsQuery = Filters.pick({ filter: true }).extend({
  session_id: AnyUuid.describe("Id of the project"),
  selects: Selects.describe("Statistics to return, for example `TURNS` and `TOTAL_COST`"),
});
export type OneThreadStatsQuery = z.infer<typeof OneThreadStatsQuery>;
