import { baseUrl } from "../../shared/http/base-url.ts";

/** Returns the only redirect URI of a provider. `origin`, of the request, counts only without `BASE_URL`. */
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

/** Returns the URL of the consent page. Our parameters override those in the query of `auth_url`. */
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
