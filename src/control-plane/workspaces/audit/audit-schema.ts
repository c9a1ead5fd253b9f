import { z } from "@hono/zod-openapi";
import { CreatedAt, Uuid } from "../../../shared/schema.ts";
import { toMicros } from "../../../shared/times.ts";

const Time = z
  .string()
  .refine((text) => toMicros(text) !== null, "must be an ISO 8601 time")
  .openapi({ format: "date-time" });

export const AuditLogsQuery = z.object({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .default(20)
    .describe("Maximum number of entries on a page"),
  cursor: Uuid.optional().openapi({ description: "`next_cursor` of the previous page" }),
  actor_id: z.string().max(200).optional().openapi({ description: "Id of the key or of the user" }),
  action: z.string().max(200).optional().openapi({ description: "`operationId` of the requests" }),
  resource_id: z.string().max(200).optional().describe("Id of a resource"),
  start_time: Time.optional().openapi({ description: "Time of the oldest entry (inclusive)" }),
  end_time: Time.optional().openapi({ description: "Time of the newest entry (exclusive)" }),
});
export type AuditLogsQuery = z.infer<typeof AuditLogsQuery>;

export const AuditLog = z
  .object({
    id: Uuid.describe("Id of the entry"),
    created_at: CreatedAt,
    request_id: Uuid.openapi({ description: "`X-Request-Id` of the response" }),
    action: z
      .string()
      .openapi({ description: "`operationId` of the request", example: "createDeployment" }),
    actor_type: z.enum(["api_key", "user", "system"]).describe("Kind of the caller"),
    actor_id: z.string().openapi({
      description: "Id of the key or of the user",
      example: "019a2b3c-0000-7000-8000-000000000002",
    }),
    user_id: z.string().nullable().describe("Id of the user, `null` for a service key"),
    resources: z
      .array(
        z.object({
          name: z
            .string()
            .openapi({ description: "Name of the parameter or field", example: "deployment_id" }),
          id: z.string().openapi({
            description: "Id of the resource",
            example: "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071",
          }),
        }),
      )
      .openapi({
        description: "Ids in the path and the query, and `id` of the created resource",
      }),
    status: z
      .number()
      .int()
      .openapi({ description: "HTTP status of the response. `403`: the request was refused" }),
  })
  .openapi("AuditLog");
export type AuditLog = z.infer<typeof AuditLog>;

export const AuditLogsList = z
  .object({
    resources: z.array(AuditLog).describe("Entries, newest first"),
    next_cursor: Uuid.nullable().describe("`cursor` of the next page, `null` on the last"),
  })
  .openapi("AuditLogsList");
export type AuditLogsList = z.infer<typeof AuditLogsList>;
