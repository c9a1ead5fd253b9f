import { z } from "@hono/zod-openapi";

const KEYS_NEEDED = "required: send access_key_id and secret_access_key";

const Credential = z
  .string()
  .trim()
  .min(1)
  .regex(/^[\x21-\x7e]+$/, "must be printable ASCII without spaces");

export const DestinationCredentials = z
  .object(
    {
      access_key_id: Credential.max(255).openapi({
        description: "Access key id",
        example: "AKIAIOSFODNN7EXAMPLE",
      }),
      secret_access_key: Credential.max(2048).openapi({
        description: "Secret access key",
        example: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      }),
      session_token: Credential.max(2048)
        .nullish()
        .describe("Session token of temporary credentials"),
    },
    { error: KEYS_NEEDED },
  )
  .openapi("BulkExportDestinationCredentials", {
    description: "Kept encrypted; never part of an answer.",
  });
export type DestinationCredentials = z.infer<typeof DestinationCredentials>;
