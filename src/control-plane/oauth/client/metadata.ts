import { z } from "@hono/zod-openapi";
import { HttpUrl } from "../../../shared/schema.ts";

/** Metadata of an authorization server: RFC 8414, or OpenID discovery. */
export const ServerMetadata = z.object({
  issuer: z.string(),
  authorization_endpoint: HttpUrl,
  token_endpoint: HttpUrl,
  revocation_endpoint: HttpUrl.optional(),
  registration_endpoint: HttpUrl.optional(),
  code_challenge_methods_supported: z.array(z.string()).optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
});
export type ServerMetadata = z.infer<typeof ServerMetadata>;

/** RFC 9728: metadata of a protected resource, such as an MCP server. */
export const ResourceMetadata = z.object({
  resource: z.string(),
  authorization_servers: z.array(HttpUrl).min(1),
});

export type ResourceMetadata = z.infer<typeof ResourceMetadata>;

/** Response of a dynamic client registration (RFC 7591). */
export const ClientRegistration = z.object({
  client_id: z.string().min(1),
  client_secret: z.string().min(1).optional(),
  token_endpoint_auth_method: z.string().optional(),
});

const MAX_ISSUERS = 6;

/** URLs of an issuer's metadata. RFC 8414 inserts `.well-known` before the issuer's path, OpenID appends it. */
export function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  return unique([
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]);
}

/**
 * At most six issuers that a token endpoint may belong to: its origin, then the folders above it, the shortest first.
 */
export function issuersOf(token_url: string): string[] {
  const { origin, pathname } = new URL(token_url);
  const parts = pathname.split("/").filter((part) => part !== "");
  const length = Math.min(Math.max(parts.length, 1), MAX_ISSUERS);
  return Array.from({ length }, (_, depth) => [origin, ...parts.slice(0, depth)].join("/"));
}

/** URLs of a server's resource metadata (RFC 9728 3.1): of its path, then of its whole host. */
export function resourceMetadataUrls(server_url: string): string[] {
  const { origin, pathname } = new URL(server_url);
  const path = pathname.replace(/\/$/, "");
  const base = `${origin}/.well-known/oauth-protected-resource`;
  return unique([`${base}${path}`, base]);
}

/** Returns `resource_metadata="..."` of a WWW-Authenticate header; `null` without it. */
export function resourceMetadataOf(challenge: string | null): string | null {
  return /resource_metadata="([^"]+)"/i.exec(challenge ?? "")?.[1] ?? null;
}

/**
 * Returns the resource indicator of a server (RFC 8707): its URL without a fragment, or its origin when the path is
 * empty.
 */
export function resourceOf(server_url: string): string {
  const url = new URL(server_url);
  url.hash = "";
  return url.pathname === "/" && url.search === "" ? url.origin : url.href;
}

export function isSameIssuer(a: string, b: string): boolean {
  return a.replace(/\/$/, "") === b.replace(/\/$/, "");
}

function unique(urls: string[]): string[] {
  return [...new Set(urls)];
}
