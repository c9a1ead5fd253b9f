import { z } from "@hono/zod-openapi";
import { Info, SERVICE_INFO } from "../../shared/http/version.ts";
import { BATCH_INGEST_CONFIG, INSTANCE_FLAGS } from "../limits.ts";

/** Server information that tracers read before they send. */
export const TracingInfo = Info.extend({
  git_sha: z.string().nullable().describe("Always `null`"),
  license_expiration_time: z.string().nullable().describe("Always `null`"),
  customer_info: z.null().describe("Always `null`"),
  batch_ingest_config: z
    .object({
      use_multipart_endpoint: z.boolean().describe("Whether SDKs use the multipart endpoint"),
      scale_up_qsize_trigger: z
        .number()
        .int()
        .describe("Queue size at which SDKs start another thread"),
      scale_up_nthreads_limit: z.number().int().describe("Maximum number of threads of an SDK"),
      scale_down_nempty_trigger: z
        .number()
        .int()
        .describe("Number of empty reads at which SDKs stop a thread"),
      size_limit: z.number().int().describe("Maximum number of runs in a batch"),
      size_limit_bytes: z.number().int().describe("Maximum size of a batch in bytes"),
    })
    .describe("How SDKs send runs in batches"),
  instance_flags: z
    .record(z.string(), z.boolean())
    .openapi({ description: "Features of ingestion", example: { zstd_compression_enabled: true } }),
}).openapi("TracingInfo");

export const TRACING_INFO = {
  ...SERVICE_INFO,
  git_sha: null,
  license_expiration_time: null,
  customer_info: null,
  batch_ingest_config: BATCH_INGEST_CONFIG,
  instance_flags: INSTANCE_FLAGS,
};
