import { invalid } from "../../../shared/errors.ts";
import type { ProviderPatchRequest } from "../provider-schema.ts";

/** A changed provider must not send tokens to another host. */
export function assertSameHost(token_url: string, revocation_url: string | null | undefined): void {
  if (!revocation_url || isSameHost(token_url, revocation_url)) return;
  const text = `must be on ${new URL(token_url).origin}, the host of token_url`;
  throw invalid(["body", "revocation_url"], text);
}

export function isSameHost(a: string, b: string): boolean {
  return new URL(a).origin === new URL(b).origin;
}

/** A provider that moves takes no secret along that its new host was not given. */
export function assertSecretNamed(
  patch: ProviderPatchRequest,
  stored: { client_secret: string | null },
): void {
  if (stored.client_secret === null || patch.client_secret) return;
  const text = "is required when the host of token_url changes";
  throw invalid(["body", "client_secret"], text);
}
