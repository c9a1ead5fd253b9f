import { z } from "@hono/zod-openapi";
import {
  CreatedAt,
  namedObject,
  queryLimit,
  Timestamp,
  textField,
  UpdatedAt,
  Uuid,
} from "../../shared/schema.ts";
import { ProviderId } from "./provider-schema.ts";

export const TokenPath = z.object({ token_id: Uuid.describe("Id of the token") });

export const TokenSummary = namedObject("OAuthTokenSummary", {
  id: Uuid.describe("Id of the token"),
  provider_id: textField("Provider of the token", "github-prod"),
  provider_account_label: z.string().nullable().describe("Label of the account"),
  scopes: z.array(z.string()).openapi({ description: "Scopes of the token", example: ["repo"] }),
  expires_at: Timestamp.nullable().describe(
    "Time at which the access token expires, `null` when the provider sent none",
  ),
  is_default: z.boolean().describe("Whether the token is the default of its provider"),
  created_at: CreatedAt,
  updated_at: UpdatedAt,
});
export type TokenSummary = z.infer<typeof TokenSummary>;

export const TokensQuery = z.strictObject({
  provider_id: ProviderId.optional().openapi({
    description: "Provider of the token",
    example: "github-prod",
  }),
  limit: queryLimit("tokens", 1000, 1000),
  offset: z.coerce.number().int().min(0).default(0).describe("Number of tokens to skip"),
});
export type TokensQuery = z.infer<typeof TokensQuery>;

export const ProviderQuery = z.object({
  provider_id: ProviderId.openapi({ description: "Provider of the token", example: "github-prod" }),
});

export const TokenExists = namedObject("OAuthTokenExists", {
  has_token: z.boolean().describe("Whether a token exists"),
});
export type TokenExists = z.infer<typeof TokenExists>;

export const TokenMetadata = namedObject("OAuthTokenMetadata", {
  provider_account_label: z.string().trim().max(200).nullish().describe("Label of the account"),
  is_default: z.boolean().nullish().describe("Whether the token is the default of its provider"),
});
export type TokenMetadata = z.infer<typeof TokenMetadata>;

export const TokenDeletion = namedObject("OAuthTokensDeleted", {
  message: textField("Confirmation", "Tokens of github-prod deleted."),
  provider_id: textField("Provider of the token", "github-prod"),
  revoked: z.number().int().describe("Number of tokens that the provider revoked"),
  not_revoked: z.number().int().describe("Number of tokens that were deleted without revocation"),
});
export type TokenDeletion = z.infer<typeof TokenDeletion>;

export const AgentId = z.string().trim().min(1).max(256);

export const AgentPath = z.object({ agent_id: AgentId.describe("Id of the agent") });
export const ConnectionPath = AgentPath.extend({
  connection_id: Uuid.describe("Id of the connection"),
});

export const ConnectionCreateRequest = namedObject("AgentConnectionCreateRequest", {
  oauth_token_id: Uuid.describe("Id of the token"),
});

export const Connection = namedObject("AgentConnection", {
  id: Uuid.describe("Id of the connection"),
  agent_id: textField("Id of the agent", "support-agent"),
  oauth_token_id: Uuid.describe("Id of the token"),
  provider_id: textField("Provider of the token", "github-prod"),
  provider_account_label: z.string().nullable().describe("Label of the account"),
  scopes: z.array(z.string()).openapi({ description: "Scopes of the token", example: ["repo"] }),
  expires_at: Timestamp.nullable().describe(
    "Time at which the access token expires, `null` when the provider sent none",
  ),
  created_by: textField(
    "Owner of the token: `user:` or `key:` and the id",
    "user:019a2b3c-0000-7000-8000-000000000002",
  ),
  created_at: CreatedAt,
});
export type Connection = z.infer<typeof Connection>;

export const ConnectionsList = namedObject("AgentConnectionsList", {
  data: z.array(Connection).describe("Connections"),
});
export type ConnectionsList = z.infer<typeof ConnectionsList>;
