import { baseUrl } from "../../shared/http/base-url.ts";

/**
 * Returns the redirect URI of a provider, which has only this one. It begins with `BASE_URL`, or with `origin` (that of
 * the request) when `BASE_URL` is empty.
 */
export function redirectUri(
  env: { BASE_URL: string },
  origin: string,
  provider_id: string,
): string {
  return `${baseUrl(env, origin)}/v2/auth/callback/${provider_id}`;
}

type ConsentRequest = {
  client_id: string;
  redirect_uri: string;
  scopes: readonly string[];
  state: string;
  challenge: { value: string; method: string } | null;
  resource: string | null;
};

/** Returns the URL of the consent page. A parameter of the request replaces one of the same name in `auth_url`. */
export function consentUrl(auth_url: string, request: ConsentRequest): string {
  const url = new URL(auth_url);
  const params = {
    response_type: "code",
    client_id: request.client_id,
    redirect_uri: request.redirect_uri,
    state: request.state,
    ...(request.scopes.length > 0 && { scope: request.scopes.join(" ") }),
    ...(request.challenge && {
      code_challenge: request.challenge.value,
      code_challenge_method: request.challenge.method,
    }),
    ...(request.resource !== null && { resource: request.resource }),
  };
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return url.href;
}
