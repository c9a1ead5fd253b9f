import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { assertReachable } from "../../../shared/egress/egress.ts";
import { AppError, invalid } from "../../../shared/errors.ts";
import { readFirst } from "../client/discovery.ts";
import { providerMessage } from "../client/grants.ts";
import {
  ClientRegistration,
  isSameIssuer,
  metadataUrls,
  ResourceMetadata,
  resourceMetadataOf,
  resourceMetadataUrls,
  ServerMetadata,
} from "../client/metadata.ts";
import { callProvider } from "../client/provider-client.ts";
import type { ClientAuth, McpDiscoverRequest, Provider } from "../provider-schema.ts";
import { redirectUri } from "../redirect.ts";
import { toError } from "../storage/deletion.ts";
import { findProvider } from "../storage/rows.ts";
import { insertProvider } from "./provider-service.ts";

const LOC = ["body", "mcp_server_url"];
/** Methods of client authentication, the preferred first. */
const AUTHS = ["client_secret_basic", "client_secret_post", "none"] as const;

/** Creates a provider from the address of an MCP server: finds its issuer and registers a client. */
export async function discoverProvider(
  ctx: Context,
  { provider_id, name, mcp_server_url }: McpDiscoverRequest,
  origin: string,
): Promise<Provider> {
  assertMay(ctx, "write");
  assertReachable(ctx.env, "oauth", { mcp_server_url });
  if (await findProvider(ctx, provider_id)) {
    const text = `An OAuth provider ${provider_id} exists in this workspace: update it, or choose another provider_id.`;
    throw new AppError("conflict", text);
  }
  const issuer = await issuerOf(ctx.env, mcp_server_url);
  const server = await serverOf(ctx.env, issuer);
  assertReachable(ctx.env, "oauth", {
    auth_url: server.authorization_endpoint,
    token_url: server.token_endpoint,
    revocation_url: server.revocation_endpoint,
  });
  const client = await register(ctx.env, server, redirectUri(ctx.env, origin, provider_id));
  return insertProvider(
    ctx,
    {
      provider_id,
      name,
      client_id: client.client_id,
      auth_url: server.authorization_endpoint,
      token_url: server.token_endpoint,
      revocation_url: server.revocation_endpoint ?? null,
      issuer: server.issuer,
      uses_pkce: true,
      code_challenge_method: "S256",
      provider_type: null,
      token_endpoint_auth_method: client.method,
      mcp_server_url,
      is_dynamic_client: true,
    },
    { client_secret: client.client_secret, token_request_headers: {} },
  );
}

/**
 * Returns the first authorization server in the resource metadata of the MCP server (RFC 9728). The URL of the metadata
 * is in the server's challenge, or a well-known one. Without metadata, the origin of the MCP server is the issuer.
 */
async function issuerOf(env: Env, mcp_server_url: string): Promise<string> {
  const answer = await callProvider(env, { method: "GET", url: mcp_server_url });
  if (!answer.ok) throw asIssue(answer);
  const named = resourceMetadataOf(answer.headers.get("www-authenticate"));
  const urls = [...(named === null ? [] : [named]), ...resourceMetadataUrls(mcp_server_url)];
  const { origin } = new URL(mcp_server_url);
  const isOurs = ({ resource }: ResourceMetadata) => URL.parse(resource)?.origin === origin;
  const found = await readFirst(env, ResourceMetadata, urls, isOurs);
  if (!found.ok) throw asIssue(found);
  return found.value?.authorization_servers[0] ?? origin;
}

async function serverOf(env: Env, issuer: string): Promise<ServerMetadata> {
  const isNamed = (metadata: ServerMetadata) => isSameIssuer(metadata.issuer, issuer);
  const found = await readFirst(env, ServerMetadata, metadataUrls(issuer), isNamed);
  if (!found.ok) throw asIssue(found);
  if (found.value !== null) return found.value;
  throw invalid(LOC, `its authorization server ${issuer} has no metadata (RFC 8414)`);
}

/** Registers a client (RFC 7591). */
async function register(env: Env, server: ServerMetadata, redirect_uri: string) {
  const { registration_endpoint: url, issuer } = server;
  if (url === undefined) {
    const text = `${issuer} has no dynamic client registration: create the provider with a client_id`;
    throw invalid(LOC, text);
  }
  // Default of RFC 8414.
  const supported = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  const wanted = AUTHS.find((method) => supported.includes(method)) ?? "none";
  const answer = await callProvider(env, {
    method: "POST",
    url,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      client_name: "Heddle",
      redirect_uris: [redirect_uri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: wanted,
    }),
  });
  if (!answer.ok) throw asIssue(answer);
  const { status, body } = answer;
  const registered = ClientRegistration.safeParse(body);
  if (status >= 300 || !registered.success) {
    throw invalid(
      LOC,
      `${issuer} refused to register a client: ${providerMessage(body) ?? `status ${status}`}`,
    );
  }
  const { client_id, client_secret, token_endpoint_auth_method } = registered.data;
  const method: ClientAuth = AUTHS.find((m) => m === token_endpoint_auth_method) ?? wanted;
  return { client_id, client_secret: client_secret ?? null, method };
}

function asIssue(failure: Parameters<typeof toError>[0]): AppError {
  return failure.reason === "unavailable" ? toError(failure) : invalid(LOC, failure.message);
}
