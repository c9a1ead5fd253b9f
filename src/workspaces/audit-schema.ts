import { z } from "@hono/zod-openapi";
import { Timestamp, Uuid } from "../shared/schema.ts";
import { toMicros } from "../shared/times.ts";

const Time = z
  .string()
  .refine((text) => toMicros(text) !== null, "must be an ISO 8601 time")
  .openapi({ format: "date-time" });

export const AuditLogsQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  cursor: Uuid.optional().openapi({ description: "next_cursor of the page before" }),
  actor_id: z.string().max(200).optional().openapi({ description: "Id of a key or of a user" }),
  action: z.string().max(200).optional().openapi({ description: "An operationId" }),
  resource_id: z.string().max(200).optional(),
  start_time: Time.optional().openapi({ description: "Inclusive" }),
  end_time: Time.optional().openapi({ description: "Exclusive" }),
});
export type AuditLogsQuery = z.infer<typeof AuditLogsQuery>;

export const AuditLog = z
  .object({
    id: Uuid,
    created_at: Timestamp,
    request_id: Uuid.openapi({ description: "X-Request-Id of the answer" }),
    action: z.string().openapi({ description: "The operationId" }),
    actor_type: z.enum(["api_key", "user", "system"]),
    actor_id: z.string(),
    user_id: z.string().nullable(),
    resources: z.array(z.object({ name: z.string(), id: z.string() })).openapi({
      description:
        "What it was about: ids of the path and the query, and of what was made (named id)",
    }),
    status: z.number().int().openapi({ description: "403: refused, and nothing changed" }),
  })
  .openapi("AuditLog");
export type AuditLog = z.infer<typeof AuditLog>;

export const AuditLogsList = z
  .object({ resources: z.array(AuditLog), next_cursor: Uuid.nullable() })
  .openapi("AuditLogsList");
export type AuditLogsList = z.infer<typeof AuditLogsList>;
