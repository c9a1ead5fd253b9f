import { createHash, randomBytes } from "node:crypto";
import { visit } from "./oidc.ts";

export type OidcClient = { client_id: string; client_secret: string };

/** Registers another application at the issuer (RFC 7591). */
export async function registerClient(issuer: string, redirect_uri: string): Promise<OidcClient> {
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify({ redirect_uris: [redirect_uri] });
  return post<OidcClient>(`${issuer}/reg`, headers, body);
}

/** Signs a person in with the authorization code flow and PKCE. Returns the ID token for the client. */
export async function fetchIdToken(
  issuer: string,
  { client_id, client_secret }: OidcClient,
  redirect_uri: string,
  login_hint: string,
): Promise<string> {
  const code_verifier = randomBytes(32).toString("base64url");
  const query = new URLSearchParams({
    client_id,
    redirect_uri,
    login_hint,
    response_type: "code",
    scope: "openid email",
    state: randomBytes(8).toString("hex"),
    code_challenge: createHash("sha256").update(code_verifier).digest("base64url"),
    code_challenge_method: "S256",
  });
  const { url } = await visit(`${issuer}/auth?${query}`);
  const code = new URL(url).searchParams.get("code");
  if (code === null) throw new Error(`The issuer redirected to ${url}, without a code.`);
  const grant = { grant_type: "authorization_code", code, redirect_uri, code_verifier };
  const basic = Buffer.from(`${client_id}:${client_secret}`).toString("base64");
  const headers = {
    Authorization: `Basic ${basic}`,
    "Content-Type": "application/x-www-form-urlencoded",
  };
  const body = new URLSearchParams(grant).toString();
  return (await post<{ id_token: string }>(`${issuer}/token`, headers, body)).id_token;
}

async function post<T>(url: string, headers: Record<string, string>, body: string): Promise<T> {
  const response = await fetch(url, { method: "POST", headers, body });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}
