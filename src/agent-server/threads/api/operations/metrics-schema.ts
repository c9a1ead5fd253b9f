import { z } from "@hono/zod-openapi";
import { namedObject, textField } from "../../../../shared/schema.ts";

const Count = z.number().int();

export const Metrics = namedObject("Metrics", {
  deployment_id: textField("Id of the deployment", "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"),
  revision_id: textField("Id of the revision", "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6072"),
  threads: z
    .object({
      idle: Count.describe("Number of idle threads"),
      busy: Count.describe("Number of busy threads"),
      interrupted: Count.describe("Number of interrupted threads"),
      error: Count.describe("Number of threads whose last run failed"),
    })
    .describe("Number of threads by status"),
  queue: z
    .object({
      n_pending: Count.describe("Number of pending runs, without those of temporary threads"),
      n_running: Count.describe("Number of running runs, without those of temporary threads"),
      pending_runs_wait_time_max_secs: z
        .number()
        .describe("Seconds since the first pending run became due"),
    })
    .nullable()
    .describe("Pending and running runs, `null` when too many threads are busy to count"),
});
export type Metrics = z.infer<typeof Metrics>;

export const MetricsQuery = z.object({
  format: z.enum(["prometheus", "json"]).default("prometheus").describe("Format of the response"),
});
