import { z } from "@hono/zod-openapi";
import { Timestamp, Uuid } from "../shared/schema.ts";
import { ProviderId } from "./provider-schema.ts";

export const TokenPath = z.object({ token_id: Uuid });

export const TokenSummary = z
  .object({
    id: Uuid,
    provider_id: z.string(),
    provider_account_label: z.string().nullable(),
    scopes: z.array(z.string()),
    expires_at: Timestamp.nullable(),
    is_default: z.boolean(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .openapi("OAuthTokenSummary");
export type TokenSummary = z.infer<typeof TokenSummary>;

export const TokensQuery = z.object({
  provider_id: ProviderId.optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(1000),
  offset: z.coerce.number().int().min(0).default(0),
});
export type TokensQuery = z.infer<typeof TokensQuery>;

export const ProviderQuery = z.object({ provider_id: ProviderId });

export const TokenExists = z.object({ has_token: z.boolean() }).openapi("OAuthTokenExists");
export type TokenExists = z.infer<typeof TokenExists>;

export const TokenMetadata = z
  .object({
    provider_account_label: z.string().trim().max(200).nullish(),
    is_default: z.boolean().nullish(),
  })
  .openapi("OAuthTokenMetadata");
export type TokenMetadata = z.infer<typeof TokenMetadata>;

export const TokensDeleted = z
  .object({
    message: z.string(),
    provider_id: z.string(),
    revoked: z.number().int(),
    not_revoked: z.number().int(),
  })
  .openapi("OAuthTokensDeleted");
export type TokensDeleted = z.infer<typeof TokensDeleted>;

export const AgentId = z.string().trim().min(1).max(256);

export const AgentPath = z.object({ agent_id: AgentId });
export const ConnectionPath = AgentPath.extend({ connection_id: Uuid });

export const ConnectionCreateRequest = z
  .object({ oauth_token_id: Uuid })
  .openapi("AgentConnectionCreateRequest");

export const Connection = z
  .object({
    id: Uuid,
    agent_id: z.string(),
    oauth_token_id: Uuid,
    provider_id: z.string(),
    provider_account_label: z.string().nullable(),
    scopes: z.array(z.string()),
    expires_at: Timestamp.nullable(),
    created_by: z.string(),
    created_at: Timestamp,
  })
  .openapi("AgentConnection");
export type Connection = z.infer<typeof Connection>;

export const ConnectionsList = z
  .object({ data: z.array(Connection) })
  .openapi("AgentConnectionsList");
export type ConnectionsList = z.infer<typeof ConnectionsList>;
