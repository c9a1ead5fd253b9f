import { createMiddleware } from "hono/factory";
import { z } from "zod";
import type { AppEnv } from "../../shared/context.ts";
import { decrypt, encrypt } from "../../shared/crypto/crypto.ts";
import { AppError } from "../../shared/errors.ts";

/** A principal that signed in to the console: by a key, named by its hash, or by the issuer of tokens. */
const Session = z.object({
  principal: z.union([z.object({ sha256: z.string() }), z.object({ user_id: z.string() })]),
  expires_at: z.string(),
});
export type ConsoleSession = z.infer<typeof Session>;

/** Prefix of a sealed session. `access/request.ts` withholds credentials that begin with it from agents. */
export const SESSION_START = "hds_";

/** `__Host-`: set by this host over a secure connection, and for no other host. */
const COOKIE = "__Host-heddle";
const CONSOLE_HEADER = "X-Heddle-Console";
const OWNER = "session";

export async function sealSession(env: Env, session: ConsoleSession): Promise<string> {
  const { key_id, ciphertext } = await encrypt(env, JSON.stringify(session), OWNER);
  return `${SESSION_START}${key_id}:${ciphertext}`;
}

export async function openSession(env: Env, token: string): Promise<ConsoleSession> {
  const [key_id = "", ciphertext = ""] = token.slice(SESSION_START.length).split(":");
  const session = await decrypt(env, { key_id, ciphertext }, OWNER)
    .then((text) => Session.parse(JSON.parse(text)))
    .catch((cause: unknown) => {
      throw new AppError("unauthenticated", "The session is not valid: sign in again.", { cause });
    });
  if (session.expires_at > new Date().toISOString()) return session;
  throw new AppError("unauthenticated", "The session has expired: sign in again.");
}

export function sessionCookie(token: string, max_age_s: number): string {
  return `${COOKIE}=${token}; Path=/; Max-Age=${max_age_s}; Secure; HttpOnly; SameSite=Strict`;
}

/**
 * Makes the cookie of the console a credential, unless the request has one. Only pages of this origin can send the
 * header: another origin needs a preflight, whose answer allows no cookies.
 */
export const readSession = createMiddleware<AppEnv>(async (c, next) => {
  const token = sessionTokenOf(c.req.raw.headers);
  if (token !== null) {
    const headers = new Headers(c.req.raw.headers);
    headers.delete("Cookie");
    headers.delete(CONSOLE_HEADER);
    headers.set("Authorization", `Bearer ${token}`);
    c.req.raw = new Request(c.req.raw, { headers });
  }
  await next();
});

function sessionTokenOf(headers: Headers): string | null {
  if (headers.has("X-Api-Key") || headers.has("Authorization")) return null;
  if (headers.get(CONSOLE_HEADER) !== "1" || headers.get("Sec-Fetch-Site") !== "same-origin") {
    return null;
  }
  const cookies = (headers.get("Cookie") ?? "").split(/; */);
  const value = cookies.find((cookie) => cookie.startsWith(`${COOKIE}=`));
  const token = value?.slice(COOKIE.length + 1) ?? "";
  return token.startsWith(SESSION_START) ? token : null;
}
