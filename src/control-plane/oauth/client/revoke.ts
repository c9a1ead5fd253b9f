import { discoverRevocation } from "./discovery.ts";
import { retryAfter } from "./grants.ts";
import type { Grant, ProviderAccess, ProviderFailure } from "./provider-access.ts";
import { authenticatedForm, basic, callProvider } from "./provider-client.ts";
import { judge, refusalText, revocationForm, type Verdict, verdictOfGrant } from "./revocation.ts";

/**
 * `revoked`: the token is revoked, or unknown to the provider. `unsupported`: the provider has no revocation.
 * `revocation_url`: the endpoint of RFC 7009 that was called, `null` when none was.
 */
export type RevocationResult = {
  ok: true;
  outcome: "revoked" | "unsupported";
  revocation_url: string | null;
};

type RevocationEndpoint = { kind: "rfc7009" | "slack" | "github"; url: string };
type TokenToRevoke = { token: string; hint: "refresh_token" | "access_token" };

/** Revokes the tokens of a grant at its provider. */
export async function revokeGrant(
  env: Env,
  provider: ProviderAccess,
  grant: Pick<Grant, "access_token" | "refresh_token">,
): Promise<RevocationResult | ProviderFailure> {
  const form = revocationForm(provider);
  if (form.kind === "none") return { ok: true, outcome: "unsupported", revocation_url: null };
  if (form.kind !== "published") return revokeParts(env, provider, grant, form);
  const found = await discoverRevocation(env, provider.token_url);
  if (!found.ok) return found;
  if (found.value === null) return { ok: true, outcome: "unsupported", revocation_url: null };
  return revokeParts(env, provider, grant, { kind: "rfc7009", url: found.value });
}

/** Revokes the refresh token first: no new access token is issued in between. */
async function revokeParts(
  env: Env,
  provider: ProviderAccess,
  { access_token, refresh_token }: Pick<Grant, "access_token" | "refresh_token">,
  endpoint: RevocationEndpoint,
): Promise<RevocationResult | ProviderFailure> {
  const access: TokenToRevoke = { token: access_token, hint: "access_token" };
  const takesBoth = endpoint.kind === "rfc7009" && refresh_token !== null;
  const parts: TokenToRevoke[] = takesBoth
    ? [{ token: refresh_token, hint: "refresh_token" }, access]
    : [access];
  const verdicts: Verdict[] = [];
  for (const part of parts) {
    const verdict = await revokePart(env, provider, endpoint, part);
    if (typeof verdict !== "string") return verdict;
    verdicts.push(verdict);
  }
  const outcome = verdictOfGrant(verdicts) === "gone" ? "revoked" : "unsupported";
  return { ok: true, outcome, revocation_url: endpoint.kind === "rfc7009" ? endpoint.url : null };
}

async function revokePart(
  env: Env,
  provider: ProviderAccess,
  endpoint: RevocationEndpoint,
  part: TokenToRevoke,
): Promise<Verdict | ProviderFailure> {
  const answer = await callProvider(env, toRequest(provider, endpoint, part));
  if (!answer.ok) return answer;
  const { host, status, body } = answer;
  const verdict = judge(endpoint.kind, status, body);
  if (verdict === "unavailable") {
    const message = `${host} answers ${status}: the token is not revoked: retry.`;
    const after = retryAfter(answer.headers.get("retry-after"), Date.now());
    return { ok: false, reason: "unavailable", message, retry_after_seconds: after };
  }
  if (verdict !== "refused") return verdict;
  return { ok: false, reason: "refused", message: refusalText(host, status, body) };
}

function toRequest(
  provider: ProviderAccess,
  { kind, url }: RevocationEndpoint,
  { token, hint }: TokenToRevoke,
) {
  if (kind === "slack") {
    const headers = { ...provider.token_request_headers, Authorization: `Bearer ${token}` };
    return { method: "POST", url, headers } as const;
  }
  if (kind === "github") {
    const { client_id, client_secret } = provider;
    const headers = {
      ...provider.token_request_headers,
      Authorization: basic(client_id, client_secret ?? ""),
      "Content-Type": "application/json",
      "User-Agent": "heddle",
    };
    return {
      method: "DELETE",
      url,
      headers,
      body: JSON.stringify({ access_token: token }),
    } as const;
  }
  const { headers, form } = authenticatedForm(provider, { token, token_type_hint: hint });
  return { method: "POST", url, headers, body: form } as const;
}
