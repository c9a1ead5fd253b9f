import { z } from "@hono/zod-openapi";
import { AnyUuid, bodyLimit, namedObject, Timestamp, textField } from "../../shared/schema.ts";
import { RunsQueryRequest } from "../query/query-schema.ts";
import { TraceStats } from "./trace-stats-schema.ts";

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 100;

export const GroupRunsRequest = RunsQueryRequest.pick({
  filter: true,
  start_time: true,
  end_time: true,
})
  .extend({
    session_id: AnyUuid.describe("Id of the project"),
    group_by: z
      .literal("conversation", {
        error: 'must be "conversation": runs are grouped by thread',
      })
      .describe("Must be `conversation`: groups by thread"),
    limit: bodyLimit("groups", MAX_LIMIT, DEFAULT_LIMIT),
    offset: z.number().int().min(0).default(0).describe("Number of groups to skip"),
  })
  .openapi("GroupRuns");
export type GroupRunsRequest = z.infer<typeof GroupRunsRequest>;

const Group = TraceStats.pick({
  latency_p50: true,
  latency_p99: true,
  total_tokens: true,
  total_cost: true,
}).extend({
  group_key: textField("Id of the thread", "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"),
  thread_id: textField("Id of the thread", "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"),
  filter: textField(
    "Filter that matches the runs of the group",
    'eq(thread_id, "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071")',
  ),
  count: z.number().int().describe("Number of traces"),
  min_start_time: Timestamp.describe("Start time of the first trace"),
  max_start_time: Timestamp.describe("Start time of the last trace"),
  feedback_stats: z.null().describe("Always `null`"),
  first_inputs: textField("Beginning of the first inputs", "Hello"),
  last_outputs: textField("Beginning of the last outputs", "How can I help?"),
  last_error: z
    .string()
    .nullable()
    .describe("Beginning of the error of the last trace, `null` without one"),
});

export const RunGroups = namedObject("RunGroups", {
  groups: z.array(Group).describe("Groups of the page"),
  total: z.number().int().describe("Number of groups"),
});
export type RunGroups = z.infer<typeof RunGroups>;
