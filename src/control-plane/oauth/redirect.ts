import { baseUrl } from "../../shared/http/base-url.ts";

/** The one address that a provider sends answers to: ours, whatever a request says. */
export function redirectUri(
  env: { BASE_URL: string },
  origin: string,
  provider_id: string,
): string {
  return `${baseUrl(env, origin)}/v2/auth/callback/${provider_id}`;
}

type Asked = {
  client_id: string;
  redirect_uri: string;
  scopes: readonly string[];
  state: string;
  challenge: { value: string; method: string } | null;
  resource: string | null;
};

/** Where the user consents. What auth_url has in its query stays, but never in the place of ours. */
export function consentUrl(auth_url: string, asked: Asked): string {
  const url = new URL(auth_url);
  const params = {
    response_type: "code",
    client_id: asked.client_id,
    redirect_uri: asked.redirect_uri,
    state: asked.state,
    ...(asked.scopes.length > 0 && { scope: asked.scopes.join(" ") }),
    ...(asked.challenge && {
      code_challenge: asked.challenge.value,
      code_challenge_method: asked.challenge.method,
    }),
    ...(asked.resource !== null && { resource: asked.resource }),
  };
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return url.href;
}
