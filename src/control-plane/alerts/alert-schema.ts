import { z } from "@hono/zod-openapi";
import { Delivery } from "../../agent-server/webhooks/schema.ts";
import {
  CreatedAt,
  HttpUrl,
  namedObject,
  Timestamp,
  UpdatedAt,
  Uuid,
} from "../../shared/schema.ts";
import { MAX_WINDOW_MINUTES } from "./limits.ts";

const MAX_NAME = 100;
const MAX_FILTER = 4096;
const MAX_KEY = 180;

export const AlertMetric = z.enum([
  "run_count",
  "error_rate",
  "latency_p95",
  "feedback_score",
  "quota_used",
]);

const fields = {
  name: z.string().trim().min(1).max(MAX_NAME).openapi({
    description: "Name, which its webhooks contain",
    example: "Errors of the agent",
  }),
  metric: AlertMetric.describe(
    "Number of runs, share of failed runs (0 to 1), 95th percentile of the duration in seconds, average score of `feedback_key`, or the largest used share of a quota of the workspace (0.8 is 80 %)",
  ),
  session_id: z
    .union([Uuid, z.null()])
    .describe("Id of the project; `null` for the metric `quota_used`"),
  filter: z.union([z.string().min(1).max(MAX_FILTER), z.null()]).openapi({
    description: "Filter of the runs, in the language of trace queries",
    example: 'eq(name, "agent")',
  }),
  is_root: z.boolean().describe("Whether only root runs count, which are traces"),
  feedback_key: z.union([z.string().min(1).max(MAX_KEY), z.null()]).openapi({
    description: "Key of the feedback, for the metric `feedback_score` only",
    example: "helpful",
  }),
  window_minutes: z.int().min(1).max(MAX_WINDOW_MINUTES).openapi({
    description:
      "Length of the window: a metric covers the runs that started in so many last minutes",
    example: 5,
  }),
  operator: z
    .enum(["gte", "lte"])
    .describe(
      "Whether the condition holds from the threshold upwards (`gte`) or downwards (`lte`)",
    ),
  threshold: z
    .number()
    .openapi({ description: "Value that the metric is compared with", example: 0.1 }),
  webhook: HttpUrl.describe("URL that receives the start and the end of each episode"),
  enabled: z.boolean().describe("Whether the alert is evaluated"),
};

export const AlertCreateRequest = namedObject("AlertCreate", {
  ...fields,
  session_id: fields.session_id.default(null),
  filter: fields.filter.default(null),
  is_root: fields.is_root.default(true),
  feedback_key: fields.feedback_key.default(null),
  enabled: fields.enabled.default(true),
});
export type AlertCreateRequest = z.infer<typeof AlertCreateRequest>;

export const AlertPatchRequest = z.object(fields).partial().openapi("AlertPatch");
export type AlertPatchRequest = z.infer<typeof AlertPatchRequest>;

export const Alert = namedObject("Alert", {
  id: Uuid.describe("Id of the alert"),
  ...fields,
  status: z.enum(["ok", "firing"]).describe("Whether the condition held at the last evaluation"),
  value: z
    .union([z.number(), z.null()])
    .describe("Value of the metric at the last evaluation, `null` when it had none"),
  episode: z.int().openapi({ description: "Number of times the alert began to fire", example: 3 }),
  started_at: z
    .union([Timestamp, z.null()])
    .describe("Start of the episode, `null` when the alert is not firing"),
  evaluated_at: z
    .union([Timestamp, z.null()])
    .describe("Time of the last evaluation, `null` before the first"),
  problem: z
    .union([z.string(), z.null()])
    .describe("Why the last evaluation had no value, such as a deleted project"),
  created_at: CreatedAt,
  updated_at: UpdatedAt,
});
export type Alert = z.infer<typeof Alert>;

export const AlertList = namedObject("AlertList", {
  alerts: z.array(Alert).describe("Alerts of the workspace, the oldest first"),
});
export type AlertList = z.infer<typeof AlertList>;

export const AlertPath = z.object({ alert_id: Uuid.describe("Id of the alert") });

const AlertDelivery = Delivery.omit({ run_id: true, thread_id: true })
  .extend({ id: Uuid.describe("Id of the delivery, which its `webhook-id` contains") })
  .openapi("AlertDelivery");

export const AlertDeliveries = namedObject("AlertDeliveries", {
  deliveries: z.array(AlertDelivery).describe("The last 20 deliveries, the newest first"),
});
export type AlertDeliveries = z.infer<typeof AlertDeliveries>;
