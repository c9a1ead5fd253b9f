import { z } from "@hono/zod-openapi";
import { CreatedAt, list, Timestamp, textField, Uuid } from "../../../shared/schema.ts";
import { toMicros } from "../../../shared/times.ts";
import { RoleId, WorkspaceRole } from "../roles.ts";

const EXAMPLE = {
  id: "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071",
  short_key: "lsv2_sk_aB3d...",
  description: "CI of the billing agent",
  access_scope: "workspace",
  workspace_id: "019a2b3c-0000-7000-8000-000000000001",
  role: "editor",
  role_id: "6f1c9d20-0001-4000-8000-000000000002",
  read_only: false,
  created_by: "019a2b3c-0000-7000-8000-000000000002",
  created_at: "2026-11-20T12:00:00.000Z",
  expires_at: "2027-02-20T12:00:00.000Z",
  last_used_at: null,
} as const;

const ExpiresAt = z
  .string()
  .refine((text) => toMicros(text) !== null, "must be an ISO 8601 time")
  .nullish()
  .openapi({
    format: "date-time",
    description:
      "Time from which the key is refused. Default: never. A key cannot create one that expires later than itself",
  });

const PersonalKey = {
  description: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .default("Default API key")
    .describe("Purpose of the key"),
  expires_at: ExpiresAt,
};

export const PersonalKeyCreateRequest = z
  .object(PersonalKey)
  .openapi("PersonalKeyCreateRequest", { example: { description: "Laptop" } });
export type PersonalKeyCreateRequest = z.infer<typeof PersonalKeyCreateRequest>;

const ServiceKey = {
  ...PersonalKey,
  role: WorkspaceRole.nullish().describe(
    "Role of the key. Default: `admin`, or `viewer` with `read_only`",
  ),
  role_id: RoleId,
  read_only: z
    .boolean()
    .default(false)
    .openapi({ deprecated: true })
    .describe(
      "Use `role` instead. Without `role`, `true` means `viewer` and `false` means `admin`",
    ),
};

export const ApiKeyCreateRequest = z.object(ServiceKey).openapi("ApiKeyCreateRequest", {
  example: { description: EXAMPLE.description, role: "editor", expires_at: EXAMPLE.expires_at },
});
export type ApiKeyCreateRequest = z.infer<typeof ApiKeyCreateRequest>;

export const ServiceKeyCreateRequest = z
  .object({
    ...ServiceKey,
    workspaces: list(Uuid)
      .nullish()
      .refine(
        (ids) => !ids || ids.length === 1,
        "must have one workspace id, or be null for all workspaces",
      )
      .describe("Id of the workspace. `null` or absent: all workspaces"),
  })
  .openapi("ServiceKeyCreateRequest", {
    example: { description: "Backup of all workspaces", role: "viewer", workspaces: null },
  });
export type ServiceKeyCreateRequest = z.infer<typeof ServiceKeyCreateRequest>;

const Fields = {
  id: Uuid.describe("Id of the key"),
  short_key: textField("Beginning of the key", "lsv2_sk_aB3d..."),
  description: textField("Purpose of the key", "CI of the billing agent"),
  access_scope: z
    .enum(["workspace", "organization"])
    .describe("Whether the key belongs to one workspace or to the organization"),
  workspace_id: Uuid.nullable().describe("Id of its workspace, `null` for all workspaces"),
  role: WorkspaceRole.nullable().describe("Role of the key, `null` for the role of its user"),
  role_id: Uuid.nullable().describe("Id of its role, `null` for the role of its user"),
  read_only: z.boolean().openapi({ deprecated: true }).describe("Whether the role is `viewer`"),
  created_by: z
    .string()
    .nullable()
    .describe("Id of the key or the user that created it, `null` for keys of the command line"),
  created_at: CreatedAt,
  expires_at: Timestamp.nullable().describe("Time from which the key is refused, `null` for never"),
  last_used_at: Timestamp.nullable().describe(
    "Time of the latest request, exact to a day; `null` before the first",
  ),
};

export const ApiKey = z.object(Fields).openapi("ApiKey", { example: EXAMPLE });
export type ApiKey = z.infer<typeof ApiKey>;

export const ApiKeyWithSecret = z
  .object({
    ...Fields,
    key: z.string().describe("Secret of the key, returned only once"),
  })
  .openapi("ApiKeyWithSecret", {
    example: { ...EXAMPLE, key: "lsv2_sk_aB3d..." },
  });
export type ApiKeyWithSecret = z.infer<typeof ApiKeyWithSecret>;

export const ApiKeyList = z.array(ApiKey);

export const ApiKeyPath = z.object({ api_key_id: Uuid.describe("Id of the key") });
export const PersonalKeyPath = z.object({ pat_id: Uuid.describe("Id of the personal key") });

export const RotateQuery = z.strictObject({
  overlap_seconds: z.coerce
    .number()
    .int()
    .min(0)
    .max(7 * 24 * 3600)
    .default(0)
    .describe("Seconds for which the previous secret stays valid"),
});
export type RotateQuery = z.infer<typeof RotateQuery>;
