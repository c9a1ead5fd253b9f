import { egressPolicy, safeFetch } from "../../../shared/egress/egress.ts";
import { AppError } from "../../../shared/errors.ts";
import { fields, readGrant, retryAfter } from "./grants.ts";
import type { Grant, ProviderAccess, ProviderFailure } from "./provider-access.ts";

/** Redirects are not followed: requests have credentials for the host of the provider only. */
const LIMITS = { timeout_ms: 10_000, max_bytes: 256 * 1024, redirects: "answer" } as const;

type ProviderAnswer = {
  ok: true;
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
  host: string;
};

type Request = {
  method: "GET" | "POST" | "DELETE";
  url: string;
  headers?: Record<string, string>;
  body?: string | URLSearchParams;
  timeout_ms?: number;
};

/**
 * Returns a response of any status. Without a response the failure is `unavailable`; it is `refused` when the policy of
 * egress refuses the URL, or the response is too large.
 */
export async function callProvider(
  env: Env,
  { method, url, headers, body, timeout_ms = LIMITS.timeout_ms }: Request,
): Promise<ProviderAnswer | ProviderFailure> {
  const init = { method, headers: { Accept: "application/json", ...headers } };
  try {
    const response = await safeFetch(
      egressPolicy(env, "oauth"),
      url,
      body === undefined ? init : { ...init, body },
      { ...LIMITS, timeout_ms },
    );
    const { status } = response;
    const answer = { status, headers: response.headers, host: new URL(url).host };
    return { ok: true, ...answer, body: parse(await response.text()) };
  } catch (error) {
    const { code, message } = AppError.from(error);
    if (code === "internal") throw error;
    const reason = code === "unavailable" ? "unavailable" : "refused";
    return { ok: false, reason, message, retry_after_seconds: retryAfter(null, Date.now()) };
  }
}

/** Sends the exchange of a code, or a refresh, to the token endpoint. */
export async function requestGrant(
  env: Env,
  provider: ProviderAccess,
  params: Record<string, string>,
): Promise<{ ok: true; grant: Grant } | ProviderFailure> {
  const { resource, token_url: url } = provider;
  const { headers, form } = authenticatedForm(provider, {
    ...params,
    ...(resource && { resource }),
  });
  const answer = await callProvider(env, { method: "POST", url, headers, body: form });
  if (!answer.ok) return answer;
  const { status, body, host } = answer;
  const retry_after = answer.headers.get("retry-after");
  return readGrant({ status, body, host, retry_after }, Date.now());
}

/** Adds the client's credentials to a form, or to its headers, by the provider's authentication method. */
export function authenticatedForm(
  provider: ProviderAccess,
  params: Record<string, string>,
): { headers: Record<string, string>; form: URLSearchParams } {
  const { client_id, client_secret, token_endpoint_auth_method: method } = provider;
  const headers = { ...provider.token_request_headers };
  if (method === "client_secret_basic" && client_secret !== null) {
    const form = new URLSearchParams(params);
    return { headers: { ...headers, Authorization: basic(client_id, client_secret) }, form };
  }
  const sendsSecret = method !== "none" && client_secret !== null;
  const form = new URLSearchParams({
    ...params,
    client_id,
    ...(sendsSecret && { client_secret }),
  });
  return { headers, form };
}

/** RFC 6749 2.3.1: both parts are form-encoded first. */
export function basic(client_id: string, client_secret: string): string {
  return `Basic ${btoa(`${formEncode(client_id)}:${formEncode(client_secret)}`)}`;
}

function formEncode(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

/**
 * Parses JSON, or a form, which some token endpoints send despite the Accept header. Other bodies, such as HTML, are
 * empty.
 */
function parse(body: string): Record<string, unknown> {
  try {
    return fields(JSON.parse(body));
  } catch {
    return body.includes("=") && !body.includes("<")
      ? Object.fromEntries(new URLSearchParams(body))
      : {};
  }
}
