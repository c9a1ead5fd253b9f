import * as oauth from "oauth4webapi";
import { AppError } from "../../../shared/errors.ts";
import { TtlCache } from "../../../shared/work/ttl-cache.ts";
import type { Person } from "../session-token.ts";

/** `OIDC_CLIENT_SECRET` is a secret of the Worker; an issuer that takes public clients needs none. */
export type IssuerEnv = Pick<Env, "OIDC_ISSUER" | "OIDC_CLIENT_ID"> & {
  OIDC_CLIENT_SECRET?: string;
};
type SignInAttempt = { state: string; nonce: string; verifier: string; redirect_uri: string };

const TIMEOUT_MS = 10_000;
const SCOPE = "openid email";

/** Creates the secrets of one sign-in, which a sealed cookie keeps until the callback. */
export function newSignIn(redirect_uri: string): SignInAttempt {
  return {
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    verifier: oauth.generateRandomCodeVerifier(),
    redirect_uri,
  };
}

/** Returns the address of the issuer's sign-in page (authorization code with PKCE). */
export async function signInUrl(env: IssuerEnv, attempt: SignInAttempt): Promise<string> {
  const { authorization_endpoint } = await discover(env);
  if (authorization_endpoint === undefined) throw unavailable("publishes no authorization page");
  const url = new URL(authorization_endpoint);
  const parameters = {
    response_type: "code",
    client_id: env.OIDC_CLIENT_ID,
    redirect_uri: attempt.redirect_uri,
    scope: SCOPE,
    state: attempt.state,
    nonce: attempt.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(attempt.verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/**
 * Exchanges the code in the callback URL for the person. The ID token comes from the token endpoint itself, so its
 * signature adds nothing (OpenID Connect Core 3.1.3.7).
 */
export async function exchangeCode(
  env: IssuerEnv,
  attempt: SignInAttempt,
  callback_url: URL,
): Promise<Person> {
  const server = await discover(env);
  const client = { client_id: env.OIDC_CLIENT_ID };
  const parameters = oauth.validateAuthResponse(server, client, callback_url, attempt.state);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authenticationOf(env),
    parameters,
    attempt.redirect_uri,
    attempt.verifier,
    optionsOf(env),
  );
  const expected = { expectedNonce: attempt.nonce, requireIdToken: true };
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, expected);
  const claims = oauth.getValidatedIdTokenClaims(tokens);
  if (claims === undefined) throw unavailable("sent no ID token");
  if (claims.email !== undefined || server.userinfo_endpoint === undefined) {
    return { subject: claims.sub, email: provenEmail(claims) };
  }
  // Some issuers return the email only from the userinfo endpoint.
  const answer = await oauth.userInfoRequest(server, client, tokens.access_token, optionsOf(env));
  const info = await oauth.processUserInfoResponse(server, client, claims.sub, answer);
  return { subject: claims.sub, email: provenEmail(info) };
}

function provenEmail({ email, email_verified }: Record<string, unknown>): string | null {
  return typeof email === "string" && email_verified === true ? email : null;
}

type Discovery = { server: oauth.AuthorizationServer } | { error: unknown };

const DISCOVERY_TTL_MS = 600_000;
/** Failures are cached too: anonymous requests must not each call an issuer that is down. */
const FAILURE_TTL_MS = 5_000;
const discoveries = new TtlCache<Discovery>((found) =>
  "server" in found ? DISCOVERY_TTL_MS : FAILURE_TTL_MS,
);

async function discover(env: IssuerEnv): Promise<oauth.AuthorizationServer> {
  const found = await discoveries.get(env.OIDC_ISSUER, () =>
    readDiscovery(env).then(
      (server) => ({ server }),
      (error: unknown) => ({ error }),
    ),
  );
  if ("server" in found) return found.server;
  throw found.error;
}

async function readDiscovery(env: IssuerEnv): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(env.OIDC_ISSUER);
  return oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, optionsOf(env)),
  );
}

function authenticationOf({ OIDC_CLIENT_SECRET = "" }: IssuerEnv): oauth.ClientAuth {
  return OIDC_CLIENT_SECRET === "" ? oauth.None() : oauth.ClientSecretBasic(OIDC_CLIENT_SECRET);
}

/** The operator names the issuer, so its own scheme decides whether plain HTTP is allowed. */
function optionsOf({ OIDC_ISSUER }: IssuerEnv) {
  return {
    signal: AbortSignal.timeout(TIMEOUT_MS),
    [oauth.allowInsecureRequests]: OIDC_ISSUER.startsWith("http:"),
  };
}

function unavailable(problem: string): AppError {
  return new AppError("unavailable", `The issuer ${problem}.`);
}
