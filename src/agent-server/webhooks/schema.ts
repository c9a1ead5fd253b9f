import { z } from "@hono/zod-openapi";
import {
  CreatedAt,
  namedObject,
  queryLimit,
  Timestamp,
  textField,
  Uuid,
} from "../../shared/schema.ts";

const DeliveryStatuses = z.enum(["pending", "delivered", "failed"]);
export type DeliveryStatus = z.infer<typeof DeliveryStatuses>;

const Attempt = namedObject("WebhookAttempt", {
  at: Timestamp.describe("Time of the attempt"),
  status: z
    .number()
    .int()
    .nullable()
    .describe("HTTP status of the response, `null` when none arrived"),
  error: z.string().nullable().describe("Why it failed, `null` when it succeeded or is under way"),
  duration_ms: z
    .number()
    .int()
    .nullable()
    .describe("Duration of the attempt, `null` when it has not completed"),
});
export type Attempt = z.infer<typeof Attempt>;

export const Delivery = namedObject("WebhookDelivery", {
  run_id: Uuid.describe("Id of the run"),
  thread_id: Uuid.describe("Id of the thread"),
  url: textField("URL of the receiver", "https://example.com/hooks/runs"),
  status: DeliveryStatuses.describe("Status of the delivery"),
  attempts: z.array(Attempt).describe("Attempts, oldest first"),
  next_attempt_at: Timestamp.nullable().describe(
    "Time of the next attempt, `null` when there is none",
  ),
  created_at: CreatedAt,
  finished_at: Timestamp.nullable().describe(
    "Time at which it was delivered or given up, `null` before",
  ),
});

export const DeliveriesQuery = z.strictObject({
  limit: queryLimit("deliveries", 100, 20),
  cursor: Uuid.optional().describe("`next_cursor` of the previous page"),
  status: DeliveryStatuses.optional().describe("Status of the deliveries"),
  kind: z
    .enum(["run", "trace"])
    .default("run")
    .describe("Webhooks of runs, or traces that deployments send to an OTLP endpoint"),
});
export type DeliveriesQuery = z.infer<typeof DeliveriesQuery>;

export const DeliveriesList = namedObject("WebhookDeliveriesList", {
  resources: z
    .array(Delivery.extend({ deployment_id: Uuid.describe("Id of the deployment") }))
    .describe("Deliveries, the newest run first"),
  next_cursor: Uuid.nullable().describe("`cursor` of the next page, `null` on the last"),
});
export type DeliveriesList = z.infer<typeof DeliveriesList>;

export const DeliveryPath = z.object({
  deployment_id: z
    .string()
    .min(1)
    .toLowerCase()
    .describe("Id or name of the deployment, with `@<revision id>` for one revision"),
  thread_id: Uuid.describe("Id of the thread"),
  run_id: Uuid.describe("Id of the run"),
});

// Standard Webhooks (standardwebhooks.com) requires 24 to 64 bytes.
const SECRET = /^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const [MIN_BYTES, MAX_BYTES] = [24, 64];
const [MIN_CHARACTERS, MAX_CHARACTERS] = [38, 94];
const SECRET_RULE = "must be whsec_ followed by 24 to 64 bytes in base64";

export const SecretChange = namedObject("WebhookSecretChange", {
  secret: z
    .string()
    .min(MIN_CHARACTERS)
    .max(MAX_CHARACTERS)
    .regex(SECRET, SECRET_RULE)
    .refine(hasSecretBytes, SECRET_RULE)
    .nullish()
    .describe("The secret. Default: a generated one, which the response returns"),
});
export type SecretChange = z.infer<typeof SecretChange>;

export const SecretState = namedObject("WebhookSecretState", {
  is_set: z.boolean().describe("Whether run webhooks are signed"),
  updated_at: Timestamp.nullable().describe(
    "Time at which the secret was set, `null` when there is none",
  ),
  previous_valid_until: Timestamp.nullable().describe(
    "Time until which deliveries are also signed with the previous secret",
  ),
});

export const SecretSet = SecretState.extend({
  secret: z.string().nullable().describe("The secret, if it was generated. Returned only once"),
}).openapi("WebhookSecretSet");

/** Checks the number of bytes: texts of equal length have up to two bytes fewer when they end with padding. */
function hasSecretBytes(secret: string): boolean {
  const [digits = ""] = secret.slice("whsec_".length).split("=");
  const bytes = Math.floor((digits.length * 3) / 4);
  return bytes >= MIN_BYTES && bytes <= MAX_BYTES;
}
