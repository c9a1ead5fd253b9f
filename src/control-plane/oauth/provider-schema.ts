import { z } from "@hono/zod-openapi";
import {
  CreatedAt,
  HttpUrl,
  namedObject,
  textField,
  UpdatedAt,
  Uuid,
} from "../../shared/schema.ts";

export const ProviderId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, "must be 1 to 128 characters of A-Z, 0-9, . _ -")
  .openapi({ example: "github-prod" });

const ProviderTypes = z
  .enum(["microsoft", "salesforce", "slack", "github", "google"])
  .openapi("OAuthProviderType", {
    description:
      "Kind of the provider. Determines how tokens are revoked when `revocation_url` is not set",
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
  .describe("OAuth client secret. Never returned");

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
    "must be valid header names, other than those the request sets itself",
  )
  .describe("Headers of requests to the token and the revocation endpoint. Never returned");

const RevocationUrl = HttpUrl.describe(
  "Revocation endpoint (RFC 7009), with the origin of `token_url`. Default: that of a known provider, otherwise discovered",
);

export const ProviderCreateRequest = namedObject("OAuthProviderCreateRequest", {
  provider_id: ProviderId.openapi({
    description: "Id of the provider, chosen by the customer",
    example: "github-prod",
  }),
  name: Name.openapi({ description: "Name for display", example: "GitHub" }),
  client_id: ClientId.openapi({
    description: "OAuth client id",
    example: "Iv1.8a61f9b3a7aba766",
  }),
  client_secret: ClientSecret.nullish(),
  auth_url: HttpUrl.openapi({
    description: "Authorization endpoint",
    example: "https://github.com/login/oauth/authorize",
  }),
  token_url: HttpUrl.openapi({
    description: "Token endpoint",
    example: "https://github.com/login/oauth/access_token",
  }),
  revocation_url: RevocationUrl.nullish(),
  uses_pkce: z.boolean().default(false).describe("Whether to use PKCE (RFC 7636)"),
  code_challenge_method: ChallengeMethod.default("S256").describe("Challenge method of PKCE"),
  provider_type: ProviderTypes.nullish(),
  token_endpoint_auth_method: ClientAuths.default("client_secret_post").describe(
    "How the client authenticates at the token endpoint",
  ),
  token_request_headers: RequestHeaders.nullish(),
});
export type ProviderCreateRequest = z.infer<typeof ProviderCreateRequest>;

export const ProviderPatchRequest = namedObject("OAuthProviderPatchRequest", {
  name: Name.nullish().openapi({ description: "Name for display", example: "GitHub" }),
  client_id: ClientId.nullish().openapi({
    description: "OAuth client id",
    example: "Iv1.8a61f9b3a7aba766",
  }),
  client_secret: ClientSecret.nullish(),
  auth_url: HttpUrl.nullish().openapi({
    description: "Authorization endpoint",
    example: "https://github.com/login/oauth/authorize",
  }),
  token_url: HttpUrl.nullish().openapi({
    description: "Token endpoint",
    example: "https://github.com/login/oauth/access_token",
  }),
  revocation_url: RevocationUrl.nullish(),
  uses_pkce: z.boolean().nullish().describe("Whether to use PKCE (RFC 7636)"),
  code_challenge_method: ChallengeMethod.nullish().describe("Challenge method of PKCE"),
  token_endpoint_auth_method: ClientAuths.nullish().describe(
    "How the client authenticates at the token endpoint",
  ),
  token_request_headers: RequestHeaders.nullish(),
  provider_type: ProviderTypes.nullish(),
});
export type ProviderPatchRequest = z.infer<typeof ProviderPatchRequest>;

export const McpDiscoverRequest = namedObject("McpDiscoverRequest", {
  provider_id: ProviderId.openapi({
    description: "Id of the provider, chosen by the customer",
    example: "github-prod",
  }),
  name: Name.openapi({ description: "Name for display", example: "GitHub" }),
  mcp_server_url: HttpUrl.describe("URL of the MCP server"),
});
export type McpDiscoverRequest = z.infer<typeof McpDiscoverRequest>;

export const Provider = namedObject("OAuthProviderResponse", {
  id: Uuid.describe("Id of the provider's row"),
  organization_id: Uuid.describe("Id of the organization"),
  provider_id: textField("Id of the provider, chosen by the customer", "github-prod"),
  name: textField("Name for display", "GitHub"),
  client_id: textField("OAuth client id", "Iv1.8a61f9b3a7aba766"),
  auth_url: textField("Authorization endpoint", "https://github.com/login/oauth/authorize"),
  token_url: textField("Token endpoint", "https://github.com/login/oauth/access_token"),
  revocation_url: z.string().nullable().describe("Revocation endpoint (RFC 7009)"),
  uses_pkce: z.boolean().describe("Whether to use PKCE (RFC 7636)"),
  code_challenge_method: ChallengeMethod.describe("Challenge method of PKCE"),
  provider_type: ProviderTypes.nullable(),
  mcp_server_url: z.string().nullable().describe("URL of the MCP server"),
  token_endpoint_auth_method: ClientAuths.describe(
    "How the client authenticates at the token endpoint",
  ),
  is_dynamic_client: z
    .boolean()
    .describe("Whether the client was registered dynamically (RFC 7591)"),
  created_at: CreatedAt,
  updated_at: UpdatedAt,
});
export type Provider = z.infer<typeof Provider>;

export const ProviderPath = z.object({
  provider_id: ProviderId.openapi({
    description: "Id of the provider, chosen by the customer",
    example: "github-prod",
  }),
});

export const ProviderDeletion = namedObject("OAuthProviderDeleted", {
  message: textField("Confirmation", "OAuth provider github-prod deleted."),
  provider_id: textField("Id of the provider, chosen by the customer", "github-prod"),
  revoked: z.number().int().describe("Number of tokens that the provider revoked"),
  not_revoked: z.number().int().describe("Number of tokens that were deleted without revocation"),
});
export type ProviderDeletion = z.infer<typeof ProviderDeletion>;

function isSendable(name: string): boolean {
  return /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/.test(name) && !UNSENDABLE.test(name);
}
