import { z } from "@hono/zod-openapi";
import { Info, SERVICE_INFO } from "../shared/version.ts";
import { BATCH_INGEST_CONFIG, INSTANCE_FLAGS } from "./limits.ts";

/** What tracers look at before they send, beside what other clients do. */
export const TracingInfo = Info.extend({
  git_sha: z.string().nullable(),
  license_expiration_time: z.string().nullable(),
  customer_info: z.null(),
  batch_ingest_config: z.object({
    use_multipart_endpoint: z.boolean(),
    scale_up_qsize_trigger: z.number().int(),
    scale_up_nthreads_limit: z.number().int(),
    scale_down_nempty_trigger: z.number().int(),
    size_limit: z.number().int(),
    size_limit_bytes: z.number().int(),
  }),
  instance_flags: z.record(z.string(), z.boolean()),
}).openapi("TracingInfo");

export const TRACING_INFO = {
  ...SERVICE_INFO,
  git_sha: null,
  license_expiration_time: null,
  customer_info: null,
  batch_ingest_config: BATCH_INGEST_CONFIG,
  instance_flags: INSTANCE_FLAGS,
};
