import { z } from "@hono/zod-openapi";
import { HttpUrl, Timestamp, Uuid } from "../shared/schema.ts";

export const ProviderId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, "must be 1 to 128 characters of A-Z, 0-9, . _ -")
  .openapi({ example: "github-prod" });

const ProviderTypes = z
  .enum(["microsoft", "salesforce", "slack", "github", "google"])
  .openapi("OAuthProviderType", {
    description: "How it revokes tokens, where that is not RFC 7009 at an address it publishes.",
  });
export type ProviderType = z.infer<typeof ProviderTypes>;

const ClientAuths = z.enum(["none", "client_secret_basic", "client_secret_post"]);
export type ClientAuth = z.infer<typeof ClientAuths>;

const ChallengeMethod = z.enum(["S256", "plain"]);

const Name = z.string().trim().min(1).max(200);
const ClientId = z.string().regex(/^[\x20-\x7e]{1,1024}$/, "must be printable ASCII");
const ClientSecret = z
  .string()
  .regex(/^[\x20-\x7e]{1,4096}$/, "must be printable ASCII")
  .openapi({ description: "Sent to the provider alone; never part of an answer." });

const UNSENDABLE = /^(authorization|host|cookie|content-.*|transfer-encoding|connection|accept)$/i;
const MAX_HEADERS = 20;

const RequestHeaders = z
  .record(z.string(), z.string().regex(/^[\x20-\x7e]{1,2048}$/, "must be printable ASCII"))
  .refine(
    (headers) => Object.keys(headers).length <= MAX_HEADERS,
    `must be at most ${MAX_HEADERS} headers`,
  )
  .refine(
    (headers) => Object.keys(headers).every(isSendable),
    "must be header names, and none that the request sets itself",
  )
  .openapi({
    description: "Go with each request to token_url and to revocation; never part of an answer.",
  });

const RevocationUrl = HttpUrl.openapi({
  description: "RFC 7009, on the host of token_url; where there is none it is discovered.",
});

export const ProviderCreateRequest = z
  .object({
    provider_id: ProviderId,
    name: Name,
    client_id: ClientId,
    client_secret: ClientSecret.nullish(),
    auth_url: HttpUrl,
    token_url: HttpUrl,
    revocation_url: RevocationUrl.nullish(),
    uses_pkce: z.boolean().default(false),
    code_challenge_method: ChallengeMethod.default("S256"),
    provider_type: ProviderTypes.nullish(),
    token_endpoint_auth_method: ClientAuths.default("client_secret_post"),
    token_request_headers: RequestHeaders.nullish(),
  })
  .openapi("OAuthProviderCreateRequest");
export type ProviderCreateRequest = z.infer<typeof ProviderCreateRequest>;

export const ProviderPatchRequest = z
  .object({
    name: Name.nullish(),
    client_id: ClientId.nullish(),
    client_secret: ClientSecret.nullish(),
    auth_url: HttpUrl.nullish(),
    token_url: HttpUrl.nullish(),
    revocation_url: RevocationUrl.nullish(),
    uses_pkce: z.boolean().nullish(),
    code_challenge_method: ChallengeMethod.nullish(),
    token_endpoint_auth_method: ClientAuths.nullish(),
    token_request_headers: RequestHeaders.nullish(),
  })
  .openapi("OAuthProviderPatchRequest");
export type ProviderPatchRequest = z.infer<typeof ProviderPatchRequest>;

export const McpDiscoverRequest = z
  .object({ provider_id: ProviderId, name: Name, mcp_server_url: HttpUrl })
  .openapi("McpDiscoverRequest");
export type McpDiscoverRequest = z.infer<typeof McpDiscoverRequest>;

export const Provider = z
  .object({
    id: Uuid,
    organization_id: Uuid,
    provider_id: z.string(),
    name: z.string(),
    client_id: z.string(),
    auth_url: z.string(),
    token_url: z.string(),
    revocation_url: z.string().nullable(),
    uses_pkce: z.boolean(),
    code_challenge_method: ChallengeMethod,
    provider_type: ProviderTypes.nullable(),
    mcp_server_url: z.string().nullable(),
    token_endpoint_auth_method: ClientAuths,
    is_dynamic_client: z.boolean(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .openapi("OAuthProviderResponse");
export type Provider = z.infer<typeof Provider>;

export const ProviderPath = z.object({ provider_id: ProviderId });

export const ProviderDeleted = z
  .object({
    message: z.string(),
    provider_id: z.string(),
    revoked: z.number().int(),
    not_revoked: z
      .number()
      .int()
      .openapi({ description: "Tokens deleted here that the provider does not revoke." }),
  })
  .openapi("OAuthProviderDeleted");
export type ProviderDeleted = z.infer<typeof ProviderDeleted>;

function isSendable(name: string): boolean {
  return /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/.test(name) && !UNSENDABLE.test(name);
}
