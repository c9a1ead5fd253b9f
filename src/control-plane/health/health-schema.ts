import { z } from "@hono/zod-openapi";
import { namedObject, Timestamp } from "../../shared/schema.ts";

const HealthCheck = namedObject("HealthCheck", {
  name: z
    .enum([
      "database_latency",
      "database_size",
      "storage_latency",
      "sweep_age",
      "build_age",
      "export_age",
      "export_file_age",
      "export_window_age",
      "webhook_age",
      "project_deletion_age",
    ])
    .describe("Name of the check"),
  status: z
    .enum(["ok", "stuck", "unknown"])
    .describe(
      "`stuck`: the value is above `threshold`, the store of a latency check failed, or no tick has ended yet (`sweep_age`). `unknown`: the store that holds the value did not answer",
    ),
  value: z.union([z.number(), z.null()]).openapi({
    description: "The measured value. `null` when nothing waits, or when it is not known",
    example: 4,
  }),
  threshold: z.number().openapi({
    description: "Highest value of a check that is `ok`",
    example: 300,
  }),
  unit: z.enum(["ms", "s", "bytes"]).describe("Unit of `value` and `threshold`"),
  remedy: z.union([z.string(), z.null()]).openapi({
    description: "How to repair it. `null` for a check that is not `stuck`",
    example: "Check the cron triggers of the Worker, and `job_failed` in its log.",
  }),
});
export type HealthCheck = z.infer<typeof HealthCheck>;

export const Health = namedObject("Health", {
  status: z.enum(["ok", "stuck"]).describe("`ok` when each check is `ok`"),
  checked_at: Timestamp.describe("Time of the measurement, which is cached for five seconds"),
  checks: z.array(HealthCheck).describe("The checks, each with its threshold"),
});
export type Health = z.infer<typeof Health>;
