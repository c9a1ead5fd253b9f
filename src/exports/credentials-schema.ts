import { z } from "@hono/zod-openapi";

const CREDENTIALS_REQUIRED = "required: send access_key_id and secret_access_key";

/** STS sets no limit: policies and tags of a session make its token longer. */
const MAX_SESSION_TOKEN_CHARS = 16_384;

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
      session_token: Credential.max(MAX_SESSION_TOKEN_CHARS)
        .nullish()
        .describe("Session token of temporary credentials"),
    },
    { error: CREDENTIALS_REQUIRED },
  )
  .openapi("BulkExportDestinationCredentials", {
    description: "Stored encrypted. Never returned",
  });
export type DestinationCredentials = z.infer<typeof DestinationCredentials>;
