import { z } from "@hono/zod-openapi";
import { Timestamp } from "../shared/schema.ts";
import { RunsQueryRequest } from "./query-schema.ts";
import { TraceStats } from "./stats-schema.ts";

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 100;

export const GroupRunsRequest = RunsQueryRequest.pick({
  filter: true,
  start_time: true,
  end_time: true,
})
  .extend({
    session_id: z.guid("must be a UUID").toLowerCase(),
    group_by: z.literal("conversation", {
      error: 'must be "conversation": runs are grouped by thread',
    }),
    limit: z.number().int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
    offset: z.number().int().min(0).default(0),
  })
  .openapi("GroupRuns");
export type GroupRunsRequest = z.infer<typeof GroupRunsRequest>;

const Group = TraceStats.pick({
  latency_p50: true,
  latency_p99: true,
  total_tokens: true,
  total_cost: true,
}).extend({
  group_key: z.string(),
  thread_id: z.string(),
  filter: z.string(),
  count: z.number().int(),
  min_start_time: Timestamp,
  max_start_time: Timestamp,
  feedback_stats: z.null(),
  first_inputs: z.string(),
  last_outputs: z.string(),
  last_error: z.string().nullable(),
});

export const RunGroups = z
  .object({ groups: z.array(Group), total: z.number().int() })
  .openapi("RunGroups");
export type RunGroups = z.infer<typeof RunGroups>;
