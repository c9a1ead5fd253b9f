import { isTransient, providerMessage, text } from "./grants.ts";
import type { ProviderAccess } from "./provider-access.ts";

/** How a provider revokes tokens. `published`: RFC 7009, at the endpoint that its metadata names, if any. */
type RevocationForm =
  | { kind: "rfc7009" | "slack" | "github"; url: string }
  | { kind: "published" }
  | { kind: "none" };

/** The result of a request to revoke a token. `gone`: revoked, or unknown to the provider. */
export type Verdict = "gone" | "unsupported" | "refused" | "unavailable";

type RevocableProvider = Pick<
  ProviderAccess,
  "provider_type" | "token_url" | "revocation_url" | "client_id"
>;

const TYPE_OF_HOST: Record<string, ProviderAccess["provider_type"]> = {
  "github.com": "github",
  "slack.com": "slack",
  "oauth2.googleapis.com": "google",
  "login.microsoftonline.com": "microsoft",
  "login.salesforce.com": "salesforce",
};

/** Prefers the configured endpoint, then the known form of the provider's type or host, then the published endpoint. */
export function revocationForm(provider: RevocableProvider): RevocationForm {
  if (provider.revocation_url !== null) return { kind: "rfc7009", url: provider.revocation_url };
  const token_url = new URL(provider.token_url);
  const at = (path: string) => new URL(path, token_url).href;
  switch (provider.provider_type ?? TYPE_OF_HOST[token_url.hostname] ?? null) {
    case "github":
      return { kind: "github", url: githubUrl(token_url, provider.client_id) };
    case "slack":
      return { kind: "slack", url: at("auth.revoke") };
    case "google":
      return { kind: "rfc7009", url: at("/revoke") };
    case "salesforce":
      return { kind: "rfc7009", url: at("revoke") };
    case "microsoft":
      return { kind: "none" };
    case null:
      return { kind: "published" };
  }
}

/** GitHub Enterprise Server has its API below its own host. */
function githubUrl(token_url: URL, client_id: string): string {
  const base =
    token_url.hostname === "github.com" ? "https://api.github.com" : `${token_url.origin}/api/v3`;
  return `${base}/applications/${encodeURIComponent(client_id)}/token`;
}

const ENDED = new Set(["invalid_token", "invalid_grant", "token_revoked", "token_expired"]);
const SLACK_ENDED = new Set([
  "token_revoked",
  "token_expired",
  "invalid_auth",
  "account_inactive",
  "not_authed",
]);
const SLACK_TRANSIENT = new Set([
  "ratelimited",
  "internal_error",
  "service_unavailable",
  "fatal_error",
]);

export function judge(
  kind: "rfc7009" | "slack" | "github",
  status: number,
  body: Record<string, unknown>,
): Verdict {
  if (isTransient(status)) return "unavailable";
  const error = text(body.error);
  if (kind === "slack") return judgeSlack(status, body.ok, error);
  if (status >= 200 && status < 300) return "gone";
  if (kind === "github") return status === 404 ? "gone" : "refused";
  if (error === "unsupported_token_type") return "unsupported";
  return status === 400 && error !== null && ENDED.has(error) ? "gone" : "refused";
}

/** Slack sends results and errors with status 200; `ok` has the result. */
function judgeSlack(status: number, ok: unknown, error: string | null): Verdict {
  if (status !== 200) return "refused";
  if (ok === true || (error !== null && SLACK_ENDED.has(error))) return "gone";
  return error !== null && SLACK_TRANSIENT.has(error) ? "unavailable" : "refused";
}

/**
 * Counts a grant as gone when one of its tokens is. Some providers revoke only one kind of token, and the other kind
 * with it.
 */
export function verdictOfGrant(verdicts: readonly Verdict[]): "gone" | "unsupported" {
  return verdicts.includes("gone") ? "gone" : "unsupported";
}

export function refusalText(host: string, status: number, body: Record<string, unknown>): string {
  return (
    `${host} refused to revoke the token: ${providerMessage(body) ?? `status ${status}`}. The token is kept: ` +
    "correct the provider's client_id, client_secret or revocation_url, then retry."
  );
}
