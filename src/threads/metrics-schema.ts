import { z } from "@hono/zod-openapi";

const Count = z.number().int();

export const Metrics = z
  .object({
    deployment_id: z.string(),
    revision_id: z.string(),
    threads: z.object({ idle: Count, busy: Count, interrupted: Count, error: Count }),
    /** Null: more threads are busy than one request may ask. */
    queue: z
      .object({
        n_pending: Count,
        n_running: Count,
        pending_runs_wait_time_max_secs: z.number(),
      })
      .nullable(),
  })
  .openapi("Metrics");
export type Metrics = z.infer<typeof Metrics>;

export const MetricsQuery = z.object({
  format: z.enum(["prometheus", "json"]).default("prometheus"),
});
