import { and, eq } from "drizzle-orm";
import type { SealedText } from "../../../shared/crypto/crypto.ts";
import { assertReachable } from "../../../shared/egress/egress.ts";
import { invalid } from "../../../shared/errors.ts";
import type { ProviderPatchRequest } from "../provider-schema.ts";
import { openCredentials, type ProviderRow, sealCredentials } from "../storage/rows.ts";
import { oauth_providers } from "../table.ts";

/** Requires the origin of `token_url` for the revocation endpoint, because tokens are sent there. */
export function assertSameOrigin(
  token_url: string,
  revocation_url: string | null | undefined,
): void {
  if (!revocation_url || isSameOrigin(token_url, revocation_url)) return;
  const text = `must be on ${new URL(token_url).origin}, the origin of token_url`;
  throw invalid(["body", "revocation_url"], text);
}

function isSameOrigin(a: string, b: string): boolean {
  return new URL(a).origin === new URL(b).origin;
}

/** A token endpoint on another origin must not receive the stored secret: the request must contain a secret. */
function assertNewSecret(
  patch: ProviderPatchRequest,
  stored: { client_secret: string | null },
): void {
  if (stored.client_secret === null || patch.client_secret) return;
  const text = "is required when the origin of token_url changes";
  throw invalid(["body", "client_secret"], text);
}

/** `isUnchanged`: SQL condition that no other request has changed what this update is based on. */
export async function buildProviderUpdate(env: Env, row: ProviderRow, patch: ProviderPatchRequest) {
  const { client_secret: _secret, token_request_headers: _headers, ...plain } = patch;
  const { auth_url, token_url, revocation_url } = patch;
  assertReachable(env, "oauth", { auth_url, token_url, revocation_url });
  const changesOrigin = Boolean(token_url) && !isSameOrigin(row.token_url, token_url ?? "");
  assertSameOrigin(token_url ?? row.token_url, revocation_url);
  const sealed = await sealChanged(env, row, patch, changesOrigin);
  const present = Object.entries(plain).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  const change = {
    ...(changesOrigin && { revocation_url: null, issuer: null }),
    ...Object.fromEntries(present),
    ...sealed,
    updated_at: new Date().toISOString(),
  };
  // Compare-and-set: secret and headers are encrypted together, for one token endpoint, and go to the revocation endpoint on
  // its origin. The update must not undo a concurrent change of one of them, or combine them with another endpoint.
  const hasCredentials = sealed !== null || Boolean(token_url);
  const isUnchanged = and(
    hasCredentials ? eq(oauth_providers.ciphertext, row.ciphertext) : undefined,
    hasCredentials || revocation_url ? eq(oauth_providers.token_url, row.token_url) : undefined,
  );
  return { change, changesOrigin, isUnchanged };
}

/**
 * Encrypts the changed credentials. A `token_url` of another origin drops the stored headers.
 * @returns `null` when the credentials stay as they are
 */
async function sealChanged(
  env: Env,
  row: ProviderRow,
  patch: ProviderPatchRequest,
  changesOrigin: boolean,
): Promise<SealedText | null> {
  const { client_secret, token_request_headers } = patch;
  if (!changesOrigin && client_secret == null && token_request_headers == null) return null;
  const stored = await openCredentials(env, row);
  if (changesOrigin) assertNewSecret(patch, stored);
  return sealCredentials(env, row.id, {
    client_secret: client_secret ?? stored.client_secret,
    token_request_headers:
      token_request_headers ?? (changesOrigin ? {} : stored.token_request_headers),
  });
}
