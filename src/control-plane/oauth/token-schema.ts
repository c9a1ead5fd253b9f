import { z } from "@hono/zod-openapi";
import { CreatedAt, Timestamp, UpdatedAt, Uuid } from "../../shared/schema.ts";
import { ProviderId } from "./provider-schema.ts";

export const TokenPath = z.object({ token_id: Uuid.describe("Id of the token") });

export const TokenSummary = z
  .object({
    id: Uuid.describe("Id of the token"),
    provider_id: z
      .string()
      .openapi({ description: "Provider of the token", example: "github-prod" }),
    provider_account_label: z.string().nullable().describe("Label of the account"),
    scopes: z.array(z.string()).openapi({ description: "Scopes of the token", example: ["repo"] }),
    expires_at: Timestamp.nullable().describe("Time at which the access token expires"),
    is_default: z.boolean().describe("Whether the token is the default of its provider"),
    created_at: CreatedAt,
    updated_at: UpdatedAt,
  })
  .openapi("OAuthTokenSummary");
export type TokenSummary = z.infer<typeof TokenSummary>;

export const TokensQuery = z.object({
  provider_id: ProviderId.optional().openapi({
    description: "Provider of the token",
    example: "github-prod",
  }),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(1000)
    .default(1000)
    .describe("Maximum number of tokens on a page"),
  offset: z.coerce.number().int().min(0).default(0).describe("Number of tokens to skip"),
});
export type TokensQuery = z.infer<typeof TokensQuery>;

export const ProviderQuery = z.object({
  provider_id: ProviderId.openapi({ description: "Provider of the token", example: "github-prod" }),
});

export const TokenExists = z
  .object({ has_token: z.boolean().describe("Whether a token exists") })
  .openapi("OAuthTokenExists");
export type TokenExists = z.infer<typeof TokenExists>;

export const TokenMetadata = z
  .object({
    provider_account_label: z.string().trim().max(200).nullish().describe("Label of the account"),
    is_default: z.boolean().nullish().describe("Whether the token is the default of its provider"),
  })
  .openapi("OAuthTokenMetadata");
export type TokenMetadata = z.infer<typeof TokenMetadata>;

export const TokensDeleted = z
  .object({
    message: z.string().openapi({ description: "Confirmation", example: "2 tokens deleted." }),
    provider_id: z
      .string()
      .openapi({ description: "Provider of the token", example: "github-prod" }),
    revoked: z.number().int().describe("Number of tokens that the provider revoked"),
    not_revoked: z.number().int().describe("Number of tokens that were deleted without revocation"),
  })
  .openapi("OAuthTokensDeleted");
export type TokensDeleted = z.infer<typeof TokensDeleted>;

export const AgentId = z.string().trim().min(1).max(256);

export const AgentPath = z.object({ agent_id: AgentId.describe("Id of the agent") });
export const ConnectionPath = AgentPath.extend({
  connection_id: Uuid.describe("Id of the connection"),
});

export const ConnectionCreateRequest = z
  .object({ oauth_token_id: Uuid.describe("Id of the token") })
  .openapi("AgentConnectionCreateRequest");

export const Connection = z
  .object({
    id: Uuid.describe("Id of the connection"),
    agent_id: z.string().openapi({ description: "Id of the agent", example: "support-agent" }),
    oauth_token_id: Uuid.describe("Id of the token"),
    provider_id: z
      .string()
      .openapi({ description: "Provider of the token", example: "github-prod" }),
    provider_account_label: z.string().nullable().describe("Label of the account"),
    scopes: z.array(z.string()).openapi({ description: "Scopes of the token", example: ["repo"] }),
    expires_at: Timestamp.nullable().describe("Time at which the access token expires"),
    created_by: z.string().openapi({
      description: "Id of the caller that created it",
      example: "019a2b3c-0000-7000-8000-000000000002",
    }),
    created_at: CreatedAt,
  })
  .openapi("AgentConnection");
export type Connection = z.infer<typeof Connection>;

export const ConnectionsList = z
  .object({ data: z.array(Connection).describe("Connections") })
  .openapi("AgentConnectionsList");
export type ConnectionsList = z.infer<typeof ConnectionsList>;
