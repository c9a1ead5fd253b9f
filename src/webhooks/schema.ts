import { z } from "@hono/zod-openapi";
import { Timestamp, Uuid } from "../shared/schema.ts";

const DeliveryStatuses = z.enum(["pending", "delivered", "failed"]);
export type DeliveryStatus = z.infer<typeof DeliveryStatuses>;

const Attempt = z
  .object({
    at: Timestamp,
    status: z.number().int().nullable().openapi({ description: "What the receiver answered." }),
    error: z.string().nullable(),
    duration_ms: z.number().int().nullable().openapi({
      description: "Null while it goes on, and where its process ended before it did.",
    }),
  })
  .openapi("WebhookAttempt");
export type Attempt = z.infer<typeof Attempt>;

export const Delivery = z
  .object({
    run_id: Uuid,
    thread_id: Uuid,
    url: z.string(),
    status: DeliveryStatuses,
    attempts: z.array(Attempt),
    next_attempt_at: Timestamp.nullable(),
    created_at: Timestamp,
    finished_at: Timestamp.nullable(),
  })
  .openapi("WebhookDelivery");

export const DeliveryPath = z.object({
  deployment_id: z.string().min(1).toLowerCase(),
  thread_id: Uuid,
  run_id: Uuid,
});

// 24 to 64 bytes, as the scheme has it.
const SECRET = /^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const [MIN_CHARACTERS, MAX_CHARACTERS] = [38, 94];

export const SecretChange = z
  .object({
    secret: z
      .string()
      .min(MIN_CHARACTERS)
      .max(MAX_CHARACTERS)
      .regex(SECRET, "must be whsec_ and 24 to 64 bytes in base64")
      .nullish()
      .openapi({ description: "Left out, one is made and answered, this once." }),
  })
  .openapi("WebhookSecretChange");
export type SecretChange = z.infer<typeof SecretChange>;

export const SecretState = z
  .object({
    is_set: z.boolean(),
    updated_at: Timestamp.nullable(),
    previous_valid_until: Timestamp.nullable().openapi({
      description: "Until then deliveries are signed with the secret before, too.",
    }),
  })
  .openapi("WebhookSecretState");

export const SecretSet = SecretState.extend({
  secret: z.string().nullable().openapi({ description: "Only of one that was made here." }),
}).openapi("WebhookSecretSet");
