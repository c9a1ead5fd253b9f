import { z } from "@hono/zod-openapi";
import { AnyUuid, namedObject, textField } from "../../shared/schema.ts";
import { RunsQueryV2Request } from "../query/query-schema.ts";
import { TraceRun } from "../query/run-schema.ts";

const MAX_PAGE = 100;
const Ids = z.array(AnyUuid).max(MAX_PAGE);

export const ShareToken = textField("Token of the link", "5f0c4c1e-9d1b-4a53-8f0e-6a2b8d9c7e11");

export const TraceShare = namedObject("TraceShare", {
  run_id: textField("Id of the shared trace's root run", "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"),
  share_token: ShareToken,
  url: textField(
    "URL of the trace's public page",
    "https://heddle.example/public/5f0c4c1e-9d1b-4a53-8f0e-6a2b8d9c7e11/r",
  ),
});
export type TraceShare = z.infer<typeof TraceShare>;

export const TraceShareV2 = TraceShare.pick({ share_token: true }).openapi("TraceShareV2");

export const ShareParams = z.object({ share_token: AnyUuid.describe("Token of the link") });
export const SharedRunParams = ShareParams.extend({ run_id: AnyUuid.describe("Id of the run") });

/** No metadata, feedback, attachments or ids of the workspace: they may identify users or hold settings. */
export const SharedRun = TraceRun.pick({
  id: true,
  trace_id: true,
  parent_run_id: true,
  parent_run_ids: true,
  dotted_order: true,
  name: true,
  run_type: true,
  status: true,
  is_root: true,
  start_time: true,
  end_time: true,
  latency: true,
  first_token_time: true,
  error: true,
  inputs: true,
  outputs: true,
  tags: true,
  total_tokens: true,
  prompt_tokens: true,
  completion_tokens: true,
  total_cost: true,
  prompt_cost: true,
  completion_cost: true,
}).openapi("SharedRun");
export type SharedRun = z.infer<typeof SharedRun>;

export const SHARED_FIELDS: string[] = Object.keys(SharedRun.shape);

export const SharedRunsRequest = namedObject("SharedRunsQuery", {
  id: Ids.nullish().describe("Ids of runs of the trace"),
  cursor: z.string().nullish().describe("Cursor of the page"),
  limit: z
    .number()
    .int()
    .min(1)
    .max(MAX_PAGE)
    .nullish()
    .describe("Maximum number of runs on a page"),
});
export type SharedRunsRequest = z.infer<typeof SharedRunsRequest>;

export const SharedRunsListQuery = z.strictObject({
  id: z
    .union([AnyUuid.transform((id) => [id]), Ids])
    .optional()
    .describe("Ids of runs of the trace"),
});

export const SharedRunsPage = namedObject("SharedRunsPage", {
  runs: z.array(SharedRun).describe("Runs of the page, the oldest first"),
  cursors: z
    .object({
      next: z.string().nullable().describe("Cursor of the next page, `null` on the last"),
    })
    .describe("Cursors of the pages"),
});
export type SharedRunsPage = z.infer<typeof SharedRunsPage>;

export const SharedRunsV2Request = RunsQueryV2Request.pick({
  selects: true,
  cursor: true,
}).openapi("SharedRunsQueryV2");
export type SharedRunsV2Request = z.infer<typeof SharedRunsV2Request>;
