import { assertReachable } from "../../../shared/egress/egress.ts";
import { invalid } from "../../../shared/errors.ts";
import type { ProviderPatchRequest } from "../provider-schema.ts";
import { openCredentials, type ProviderRow, sealCredentials } from "../storage/rows.ts";

/** A changed provider must not send tokens to another origin. */
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

/** A new token endpoint must not receive the secret of the old one: the request must contain it again. */
function assertNewSecret(
  patch: ProviderPatchRequest,
  stored: { client_secret: string | null },
): void {
  if (stored.client_secret === null || patch.client_secret) return;
  const text = "is required when the origin of token_url changes";
  throw invalid(["body", "client_secret"], text);
}

export async function buildProviderUpdate(env: Env, row: ProviderRow, patch: ProviderPatchRequest) {
  const { client_secret, token_request_headers, ...plain } = patch;
  const { auth_url, token_url, revocation_url } = patch;
  assertReachable(env, "oauth", { auth_url, token_url, revocation_url });
  const changesOrigin = Boolean(token_url) && !isSameOrigin(row.token_url, token_url ?? "");
  assertSameOrigin(token_url ?? row.token_url, revocation_url);
  const stored = await openCredentials(env, row);
  if (changesOrigin) assertNewSecret(patch, stored);
  const credentials = {
    client_secret: client_secret ?? stored.client_secret,
    token_request_headers:
      token_request_headers ?? (changesOrigin ? {} : stored.token_request_headers),
  };
  const present = Object.entries(plain).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  const change = {
    ...(changesOrigin && { revocation_url: null, issuer: null }),
    ...Object.fromEntries(present),
    ...(await sealCredentials(env, row.id, credentials)),
    updated_at: new Date().toISOString(),
  };
  return { change, changesOrigin };
}
