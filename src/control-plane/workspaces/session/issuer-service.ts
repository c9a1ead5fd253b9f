import * as oauth from "oauth4webapi";
import { z } from "zod";
import { database } from "../../../shared/context.ts";
import { baseUrl } from "../../../shared/http/base-url.ts";
import { log } from "../../../shared/log.ts";
import { reachesWorkspace } from "../access.ts";
import { findUser } from "../credentials.ts";
import { cookieOf, openToken, sealToken, setCookie } from "../session-token.ts";
import { exchangeCode, type IssuerEnv, newSignIn, signInUrl } from "./issuer.ts";
import type { SignInProblem, SignInWays } from "./session-schema.ts";
import { MAX_WORKSPACES, signIn } from "./session-service.ts";

/** The sign-in in progress. A cookie of the browser keeps it, sealed, while the person is at the issuer. */
const Pending = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  redirect_uri: z.string(),
  to: z.string(),
  expires_at: z.string(),
});

export type Redirect = { location: string; cookies: string[] };

const COOKIE = "__Host-heddle-sign-in";
const OWNER = "sign-in";
/** Time that a person may take at the issuer. */
const PENDING_S = 600;
const CALLBACK_PATH = "/v1/session/issuer/callback";
const HOME = "/";

export function signInWays(env: IssuerEnv): SignInWays {
  return { issuer: isConfigured(env) ? new URL(env.OIDC_ISSUER).host : null };
}

/** Redirects the browser to the issuer. `to` is the page of the console to open after the sign-in. */
export async function beginSignIn(
  env: Env,
  origin: string,
  to: string | undefined,
): Promise<Redirect> {
  const wanted = ownPath(to);
  if (!isConfigured(env)) return refused("not_configured", wanted);
  const consent = newSignIn(`${baseUrl(env, origin)}${CALLBACK_PATH}`);
  const expires_at = new Date(Date.now() + PENDING_S * 1000).toISOString();
  try {
    const location = await signInUrl(env, consent);
    const pending = await sealToken(env, { ...consent, to: wanted, expires_at }, OWNER);
    // Lax: the return from the issuer is a navigation that another site begins.
    return { location, cookies: [setCookie(COOKIE, pending, PENDING_S, "Lax")] };
  } catch (error) {
    log.error("sign_in_failed", error);
    return refused("unavailable", wanted);
  }
}

/** Handles the redirect back from the issuer. The cookie proves that the sign-in began in this browser. */
export async function finishSignIn(env: Env, headers: Headers, url: URL): Promise<Redirect> {
  const pending = await openPending(env, headers);
  if (pending?.state !== url.searchParams.get("state")) return refused("expired", HOME);
  try {
    const person = await exchangeCode(env, pending, url);
    const found = await findUser(database(env), person, null, MAX_WORKSPACES);
    if (found?.actor.type !== "user") return refused("unknown_user", pending.to);
    if (!reachesWorkspace(found)) return refused("no_workspace", pending.to);
    const { cookie } = await signIn(env, found, person);
    return { location: `/console${pending.to}`, cookies: [cookie, ended()] };
  } catch (error) {
    if (isDenial(error)) return refused("denied", pending.to);
    log.error("sign_in_failed", error);
    return refused("unavailable", pending.to);
  }
}

async function openPending(env: Env, headers: Headers) {
  const token = cookieOf(headers, COOKIE);
  if (token === null) return null;
  return openToken(env, token, Pending, OWNER).catch(() => null);
}

function isConfigured({ OIDC_ISSUER, OIDC_CLIENT_ID }: IssuerEnv): boolean {
  return OIDC_ISSUER !== "" && OIDC_CLIENT_ID !== "";
}

/** Returns whether the person or the issuer refused. Other errors are those of an invalid response. */
function isDenial(error: unknown): boolean {
  return error instanceof oauth.AuthorizationResponseError && error.error === "access_denied";
}

/** Returns a path to append to `/console`. It is in a header, so it has visible ASCII characters only. */
function ownPath(to: string | undefined): string {
  return to !== undefined && /^\/(?![/\\])[\x21-\x7e]*$/.test(to) ? to : HOME;
}

function refused(problem: SignInProblem, to: string): Redirect {
  const query = new URLSearchParams({ problem, ...(to !== HOME && { to }) });
  return { location: `/console/login?${query}`, cookies: [ended()] };
}

function ended(): string {
  return setCookie(COOKIE, "", 0, "Lax");
}
