import { z } from "@hono/zod-openapi";
import { AnyUuid, namedObject, numberOr, textField } from "../../shared/schema.ts";
import { RunsQueryV2Request } from "../query/query-schema.ts";

const PAGE_SIZE = 20;
const MAX_PAGE_SIZE = 100;
const MAX_CURSOR_CHARS = 4096;
const MAX_SELECTS = 100;

const { filter, tree_filter, min_start_time, max_start_time } = RunsQueryV2Request.shape;
const Selects = z.array(z.string()).max(MAX_SELECTS);
const ProjectId = AnyUuid.describe("Id of the project");
const Run = z.record(z.string(), z.unknown());

const unsupported = (name: string) =>
  z
    .null({ error: `is not supported: use trace_filter or tree_filter instead of ${name}` })
    .optional()
    .describe("Not supported");

export const TracesQueryRequest = namedObject("TracesQuery", {
  project_id: ProjectId,
  trace_ids: z.array(AnyUuid).max(MAX_PAGE_SIZE).nullish().describe("Ids of traces"),
  trace_filter: filter.openapi({
    description: "Filter of the root runs",
    example: 'eq(status, "error")',
  }),
  tree_filter: tree_filter.describe("Filter that any run of the traces must match"),
  min_start_time: min_start_time.describe("Start time of the oldest trace. Default: a day ago"),
  max_start_time: max_start_time.describe("Start time of the newest trace. Default: any time"),
  cursor: z.string().max(MAX_CURSOR_CHARS).nullish().describe("Cursor of the page"),
  page_size: numberOr(PAGE_SIZE, z.number().int().min(1).max(MAX_PAGE_SIZE)).describe(
    "Maximum number of traces on a page",
  ),
  selects: Selects.nullish().openapi({
    description: "Fields to return. Default: the id",
    example: ["NAME", "STATUS", "TOTAL_TOKENS"],
  }),
  ai_search: unsupported("ai_search"),
  sem_filter: unsupported("sem_filter"),
  min_feedback_modified_at: unsupported("min_feedback_modified_at"),
  max_feedback_modified_at: unsupported("max_feedback_modified_at"),
});
export type TracesQueryRequest = z.infer<typeof TracesQueryRequest>;

const Aggregates = z.object({
  total_tokens: z.number().int().nullish().describe("Number of tokens of the trace"),
  total_cost: z.number().nullish().describe("Cost of the trace in US dollars"),
  first_token_time: z.string().nullish().describe("Time of the first token of the root run"),
});

const Trace = z.object({
  root_run: Run.openapi({
    description: "Selected fields of the root run",
    example: { id: "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071", name: "agent", status: "SUCCESS" },
  }),
  trace_aggregates: Aggregates.optional().describe("Selected totals of the trace"),
});

export const TracesPage = namedObject("TracesPage", {
  items: z.array(Trace).describe("Traces, the newest first"),
  has_more: z.boolean().describe("Whether there is another page"),
  next_cursor: z.string().nullable().describe("Cursor of the next page, `null` on the last"),
});
export type TracesPage = z.infer<typeof TracesPage>;

export const TraceRunsQuery = z.object({
  project_id: ProjectId.optional().describe(
    "Id of the project. With it the answer is one JSON object with all runs, as `traces.list_runs` of the langsmith SDK reads it",
  ),
  filter,
  min_start_time: min_start_time.describe("Start time of the oldest run"),
  max_start_time: max_start_time.describe("Start time of the newest run"),
  selects: z
    .union([textField("Field to return", "NAME").transform((name) => [name]), Selects])
    .optional()
    .describe("Fields to return with `project_id`. Default: the id"),
});
export type TraceRunsQuery = z.infer<typeof TraceRunsQuery>;

export const TraceRuns = namedObject("TraceRuns", {
  items: z.array(Run).openapi({
    description: "Runs of the trace, the oldest first",
    example: [{ id: "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071", name: "agent", run_type: "CHAIN" }],
  }),
});
export type TraceRuns = z.infer<typeof TraceRuns>;
