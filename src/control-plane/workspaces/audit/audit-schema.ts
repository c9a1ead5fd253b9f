import { z } from "@hono/zod-openapi";
import { CreatedAt, namedObject, queryLimit, textField, Uuid } from "../../../shared/schema.ts";
import { toMicros } from "../../../shared/times.ts";

const Time = z
  .string()
  .refine((text) => toMicros(text) !== null, "must be an ISO 8601 time")
  .openapi({ format: "date-time" });

export const AuditLogsQuery = z.strictObject({
  limit: queryLimit("entries", 100, 20),
  cursor: Uuid.optional().describe("`next_cursor` of the previous page"),
  actor_id: z.string().max(200).optional().describe("Id of the key or of the user"),
  action: z.string().max(200).optional().describe("`operationId` of the requests"),
  resource_id: z.string().max(200).optional().describe("Id of a resource"),
  start_time: Time.optional().describe("Time of the oldest entry (inclusive)"),
  end_time: Time.optional().describe("Time of the newest entry (exclusive)"),
});
export type AuditLogsQuery = z.infer<typeof AuditLogsQuery>;

export const AuditLog = namedObject("AuditLog", {
  id: Uuid.describe("Id of the entry"),
  created_at: CreatedAt,
  request_id: Uuid.describe(
    "`X-Request-Id` of the response. For an invitation that a sign-in or a bearer token accepted, an id that no response has",
  ),
  action: textField("`operationId` of the request", "createDeployment"),
  actor_type: z.enum(["api_key", "user", "system"]).describe("Kind of the caller"),
  actor_id: textField("Id of the key or of the user", "019a2b3c-0000-7000-8000-000000000002"),
  user_id: z.string().nullable().describe("Id of the user, `null` for a service key"),
  actor_name: z.string().nullable().openapi({
    description:
      "Email of the user, or else the description or first characters of the key. `null` for the system, and when the key or user was deleted",
    example: "ada@example.com",
  }),
  resources: z
    .array(
      z.object({
        name: textField("Name of the parameter or field", "deployment_id"),
        id: textField("Id of the resource", "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"),
      }),
    )
    .describe(
      "Ids in the path and the query, `id` and `provider_id` in the response to a POST request, and ids of deleted OAuth tokens. For deleted traces: the project, the trace ids, the number of runs, and the SHA-256 of each value that is not an id",
    ),
  status: z
    .number()
    .int()
    .describe(
      "HTTP status of the response. `403`: the request was refused. Other errors: a part of the change may have been made",
    ),
});
export type AuditLog = z.infer<typeof AuditLog>;

export const AuditLogsList = namedObject("AuditLogsList", {
  resources: z.array(AuditLog).describe("Entries, newest first"),
  next_cursor: Uuid.nullable().describe("`cursor` of the next page, `null` on the last"),
});
export type AuditLogsList = z.infer<typeof AuditLogsList>;
