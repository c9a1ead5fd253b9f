import { createMiddleware } from "hono/factory";
import { z } from "zod";
import { credentialIn } from "../../shared/auth.ts";
import type { AppEnv } from "../../shared/context.ts";
import { decrypt, encrypt, type SealedText } from "../../shared/crypto/crypto.ts";
import { decodeBytes, encodeBytes } from "../../shared/crypto/encoding.ts";
import { AppError } from "../../shared/errors.ts";

/** A person at the issuer. `email` is the verified one of the sign-in or the token, `null` without one. */
const Person = z.object({ subject: z.string(), email: z.string().nullable() });
export type Person = z.infer<typeof Person>;

/** A session of the console. `principal` is the hash of the key that signed in, or a person at the issuer. */
const Session = z.object({
  principal: z.union([z.object({ sha256: z.string() }), Person]),
  expires_at: z.string(),
});
export type ConsoleSession = z.infer<typeof Session>;

/**
 * Prefix of sealed tokens: sessions of the console, and sign-ins in progress. `agent-server/access/request.ts`
 * withholds credentials that begin with it from agents.
 */
export const SESSION_START = "hds_";

/** `__Host-`: set by this host over a secure connection, and for no other host. */
const COOKIE = "__Host-heddle";
const INVALID = "The session is not valid: sign in again.";
const CONSOLE_HEADER = "X-Heddle-Console";
const OWNER = "session";

export function sealSession(env: Env, session: ConsoleSession): Promise<string> {
  return sealToken(env, session, OWNER);
}

export function openSession(env: Env, token: string): Promise<ConsoleSession> {
  return openToken(env, token, Session, OWNER);
}

export function sessionCookie(token: string, max_age_s: number): string {
  return setCookie(COOKIE, token, max_age_s, "Strict");
}

/** Seals a value for a cookie. `owner` is its purpose: a token of another purpose does not open. */
export async function sealToken(env: Env, value: object, owner: string): Promise<string> {
  return toToken(await encrypt(env, JSON.stringify(value), owner));
}

export async function openToken<T extends { expires_at: string }>(
  env: Env,
  token: string,
  schema: z.ZodType<T>,
  owner: string,
): Promise<T> {
  const opened = await decrypt(env, readSealed(token), owner)
    .then((text) => schema.parse(JSON.parse(text)))
    .catch((cause: unknown) => {
      throw new AppError("unauthenticated", INVALID, { cause });
    });
  if (opened.expires_at > new Date().toISOString()) return opened;
  throw new AppError("unauthenticated", "The session has expired: sign in again.");
}

/** Accepts only the text that `toToken` writes: an ended session is found by the hash of that text. */
function readSealed(token: string): SealedText {
  const [key_id = "", ciphertext = ""] = token.slice(SESSION_START.length).split(":");
  const sealed = { key_id, ciphertext: encodeBytes(decodeBytes(ciphertext, "base64"), "base64") };
  if (token === toToken(sealed)) return sealed;
  throw new AppError("unauthenticated", INVALID);
}

function toToken({ key_id, ciphertext }: SealedText): string {
  return `${SESSION_START}${key_id}:${ciphertext}`;
}

export function setCookie(
  name: string,
  value: string,
  max_age_s: number,
  same_site: "Strict" | "Lax",
): string {
  return `${name}=${value}; Path=/; Max-Age=${max_age_s}; Secure; HttpOnly; SameSite=${same_site}`;
}

/** Returns the value of a cookie that begins like a sealed token, `null` without such a cookie. */
export function cookieOf(headers: Headers, name: string): string | null {
  const cookies = (headers.get("Cookie") ?? "").split(/; */);
  const value = cookies.find((cookie) => cookie.startsWith(`${name}=`));
  const token = value?.slice(name.length + 1) ?? "";
  return token.startsWith(SESSION_START) ? token : null;
}

/**
 * Turns the cookie of the console into a bearer token, unless the request has a credential. The cookie counts only in
 * requests of pages of this origin, with `X-Heddle-Console` and `Sec-Fetch-Site`. Another origin cannot send the first
 * without a preflight, and the response to a preflight allows no cookies.
 */
export const acceptSessionCookie = createMiddleware<AppEnv>(async (c, next) => {
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

/** Refuses a session that is sent as a key or a bearer token: only the cookie is bound to pages of this origin. */
export function assertNoSession(headers: Headers): void {
  const names = ["X-Api-Key", "Authorization"];
  // Only the start counts: tokens of issuers may contain the same characters.
  const given = names.map((name) => credentialIn(headers.get(name) ?? ""));
  if (!given.some((credential) => credential.toLowerCase().startsWith(SESSION_START))) return;
  const text =
    "A session of the console is accepted as its cookie only: send an API key as X-Api-Key.";
  throw new AppError("unauthenticated", text);
}

function sessionTokenOf(headers: Headers): string | null {
  if (headers.has("X-Api-Key") || headers.has("Authorization")) return null;
  if (headers.get(CONSOLE_HEADER) !== "1" || headers.get("Sec-Fetch-Site") !== "same-origin") {
    return null;
  }
  return cookieOf(headers, COOKIE);
}
