import type { ClientAuth, ProviderType } from "../provider-schema.ts";

/** A provider with the client's credentials. The secret is plain here and sealed in storage. */
export type ProviderAccess = {
  provider_id: string;
  provider_type: ProviderType | null;
  token_url: string;
  revocation_url: string | null;
  client_id: string;
  client_secret: string | null;
  token_endpoint_auth_method: ClientAuth;
  token_request_headers: Record<string, string>;
  /** Resource indicator (RFC 8707): the MCP server that its tokens are for; `null` for other providers. */
  resource: string | null;
};

/** A grant. Its access token is returned to requests and runs of the owner only, its refresh token never. */
export type Grant = {
  access_token: string;
  refresh_token: string | null;
  token_type: string;
  /** `null` when the provider sent no expiry. */
  expires_at: string | null;
  /** Time from which a read refreshes the token, a little before the expiry. `null` without an expiry. */
  refresh_at: string | null;
  /** `null` when the provider sent no scope. */
  scopes: string[] | null;
  account_label: string | null;
};

/**
 * Why a request failed. `ended`: the grant is over, and a new consent helps. `refused`: the provider refuses the
 * request for another reason, such as wrong client credentials. `unavailable`: a retry may help.
 */
export type ProviderFailure = {
  ok: false;
  reason: "ended" | "refused" | "unavailable";
  message: string;
  retry_after_seconds?: number;
};
