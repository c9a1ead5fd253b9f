import { discoverRevocation } from "./discovery.ts";
import { retryAfter } from "./grants.ts";
import type { Grant, ProviderAccess, ProviderFailure } from "./provider-access.ts";
import { basic, callProvider, signed } from "./provider-client.ts";
import { judge, overall, refusalText, revocationForm, type Verdict } from "./revocation.ts";

/** `revoked`: the provider has taken it back, or never knew it. `unsupported`: it takes nothing back. */
export type RevocationResult = {
  ok: true;
  outcome: "revoked" | "unsupported";
  revocation_url: string | null;
};

type Way = { kind: "rfc7009" | "slack" | "github"; url: string };
type Part = { token: string; hint: "refresh_token" | "access_token" };

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

/** The refresh token first: without it no new access token can come between. */
async function revokeParts(
  env: Env,
  provider: ProviderAccess,
  { access_token, refresh_token }: Pick<Grant, "access_token" | "refresh_token">,
  way: Way,
): Promise<RevocationResult | ProviderFailure> {
  const access: Part = { token: access_token, hint: "access_token" };
  const takesBoth = way.kind === "rfc7009" && refresh_token !== null;
  const parts: Part[] = takesBoth
    ? [{ token: refresh_token, hint: "refresh_token" }, access]
    : [access];
  const verdicts: Verdict[] = [];
  for (const part of parts) {
    const verdict = await revokePart(env, provider, way, part);
    if (typeof verdict !== "string") return verdict;
    verdicts.push(verdict);
  }
  const outcome = overall(verdicts) === "gone" ? "revoked" : "unsupported";
  return { ok: true, outcome, revocation_url: way.kind === "rfc7009" ? way.url : null };
}

async function revokePart(
  env: Env,
  provider: ProviderAccess,
  way: Way,
  part: Part,
): Promise<Verdict | ProviderFailure> {
  const answer = await callProvider(env, toRequest(provider, way, part));
  if (!answer.ok) return answer;
  const { host, status, body } = answer;
  const verdict = judge(way.kind, status, body);
  if (verdict === "unavailable") {
    const message = `${host} answers ${status}: the token is not revoked: retry.`;
    const after = retryAfter(answer.headers.get("retry-after"), Date.now());
    return { ok: false, reason: "unavailable", message, retry_after_seconds: after };
  }
  if (verdict !== "refused") return verdict;
  return { ok: false, reason: "refused", message: refusalText(host, status, body) };
}

function toRequest(provider: ProviderAccess, { kind, url }: Way, { token, hint }: Part) {
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
  const { headers, form } = signed(provider, { token, token_type_hint: hint });
  return { method: "POST", url, headers, body: form } as const;
}
