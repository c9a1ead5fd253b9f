import { createMiddleware } from "hono/factory";
import { credentialIn } from "../../shared/auth.ts";
import {
  type AppEnv,
  type Caller,
  type Context,
  contextFor,
  type Database,
  database,
} from "../../shared/context.ts";
import { sha256Hex } from "../../shared/crypto/crypto.ts";
import { AppError, invalid } from "../../shared/errors.ts";
import { limitFailures } from "../../shared/http/rate-limit.ts";
import { Uuid } from "../../shared/schema.ts";
import { type Credential, chooseWorkspace, reachesWorkspace } from "./access.ts";
import { callers, endOf } from "./caller-cache.ts";
import { findApiKey, findSubject, findUser } from "./credentials.ts";
import { isEnded } from "./ended-sessions.ts";
import { issuerKeys, verifyJwt } from "./jwt.ts";
import { assertPrincipalActive } from "./service.ts";
import { openSession, type Person, SESSION_START } from "./session-token.ts";

export type AuthenticatedPrincipal = {
  credential: Credential;
  session_expires_at: string | null;
  /** A person who signed in or has a token of the issuer; `null` for keys, personal ones included. */
  person: Person | null;
};

const API_KEY_START = "lsv2_";
const NO_ISSUER =
  "Bearer tokens of users are not accepted: OIDC_ISSUER is not configured. Send an API key as X-Api-Key.";

/**
 * Credentials of the callers that this isolate has authenticated. Not a field of the caller, which is stored with runs.
 * `ends_at_ms` is `Infinity` for a credential that does not expire.
 */
const credentials = new WeakMap<Caller, { text: string; ends_at_ms: number }>();

export const authenticate = createMiddleware<AppEnv>(async (c, next) => {
  c.set("ctx", contextFor(c.env, await resolveCaller(c.env, c.req.raw.headers)));
  await next();
});

export function resolveCaller(env: Env, headers: Headers): Promise<Caller> {
  return limitFailures(headers, "workspaces", (assertRate) => findCaller(env, headers, assertRate));
}

/** Cached credentials bypass the limit on failures of their network. */
async function findCaller(env: Env, headers: Headers, assertRate: () => void): Promise<Caller> {
  const credential = readCredential(headers);
  const tenant = readTenant(headers);
  if (!callers.has(keyOf(credential, tenant))) assertRate();
  return cachedCaller(env, credential, tenant);
}

/**
 * Reads the credential of a request without the cache, with at most `max_reaches` of the workspaces that it reaches.
 * With `X-Tenant-Id`, only that workspace is returned.
 */
export function resolvePrincipal(
  env: Env,
  headers: Headers,
  max_reaches: number,
): Promise<AuthenticatedPrincipal> {
  return limitFailures(headers, "workspaces", async (assertRate) => {
    const credential = readCredential(headers);
    const tenant = readTenant(headers);
    assertRate();
    const found = await findCredential(env, credential, tenant, max_reaches);
    if (tenant !== null) chooseWorkspace(found.credential, tenant);
    return found;
  });
}

/**
 * Reads the credential of a request and its principal from D1 once more: the secret of a key that was rotated a moment
 * ago may still be in the cache of an isolate, as may an admin who was removed.
 */
export async function assertStillAuthenticated({ env, db, caller }: Context): Promise<void> {
  const credential = credentialOf(caller);
  if (credential !== null) await findCredential(env, credential, caller.workspace_id);
  await assertPrincipalActive(db, caller);
}

/**
 * Reads from D1 when the credential of a caller expires: its key or token, or the overlap of a rotated secret. A
 * session counts with the expiry of its key, and without one when a person signed in at the issuer.
 * @returns ISO time, `null` when it does not expire or is not known
 */
export async function readCredentialExpiry({ env, caller }: Context): Promise<string | null> {
  const text = credentialOf(caller);
  if (text === null) return null;
  const { credential } = await findCredential(env, text, caller.workspace_id);
  return credential.expires_at;
}

function keyOf(credential: string, tenant: string | null): string {
  return `${credential}:${tenant ?? ""}`;
}

async function cachedCaller(env: Env, text: string, tenant: string | null): Promise<Caller> {
  const { caller } = await callers.get(env, keyOf(text, tenant), async () => {
    const { credential, session_expires_at } = await findCredential(env, text, tenant);
    const found = chooseWorkspace(credential, tenant);
    const ends_at_ms = endOf([credential.expires_at, session_expires_at]);
    credentials.set(found, { text, ends_at_ms });
    return { caller: found, ends_at_ms };
  });
  return caller;
}

async function findCredential(
  env: Env,
  text: string,
  tenant: string | null,
  max_reaches?: number,
): Promise<AuthenticatedPrincipal> {
  const db = database(env);
  if (text.startsWith(SESSION_START)) return findBySession(env, text, tenant, max_reaches);
  if (isJwt(text) && env.OIDC_ISSUER !== "") {
    return findByJwt(env, db, text, tenant, max_reaches);
  }
  if (isJwt(text)) throw new AppError("unauthenticated", NO_ISSUER);
  const credential = await findApiKey(db, sha256Hex(text), tenant, max_reaches);
  if (credential === null) throw new AppError("unauthenticated", "Invalid API key.");
  return { credential, session_expires_at: null, person: null };
}

/** Reads the principal of the session: a session ends with its key, or with the memberships of its person. */
async function findBySession(
  env: Env,
  token: string,
  tenant: string | null,
  max_reaches?: number,
): Promise<AuthenticatedPrincipal> {
  const { principal, expires_at } = await openSession(env, token);
  const db = database(env);
  if (await isEnded(db, token)) {
    throw new AppError("unauthenticated", "The session was ended by signing out: sign in again.");
  }
  const person = "subject" in principal ? principal : null;
  const credential =
    "sha256" in principal
      ? await findApiKey(db, principal.sha256, tenant, max_reaches)
      : await findSubject(db, principal.subject, tenant, max_reaches);
  const isOpen = credential !== null && (tenant !== null || reachesWorkspace(credential));
  if (isOpen) return { credential, session_expires_at: expires_at, person };
  const text =
    "The key of this session is revoked or expired, or its user is removed: sign in again.";
  throw new AppError("unauthenticated", text);
}

async function findByJwt(
  env: Env,
  db: Database,
  token: string,
  tenant: string | null,
  max_reaches?: number,
): Promise<AuthenticatedPrincipal> {
  const issuer = env.OIDC_ISSUER;
  const keys = await issuerKeys(issuer);
  const { expires_at_ms, ...person } = await verifyJwt(token, {
    issuer,
    audience: env.OIDC_AUDIENCE,
    keys,
  });
  const found = await findUser(db, person, tenant, max_reaches);
  if (found !== null) {
    const credential = { ...found, expires_at: new Date(expires_at_ms).toISOString() };
    return { credential, session_expires_at: null, person };
  }
  const text =
    "The user of this bearer token is not a member of an organization: an admin must add the email address first.";
  throw new AppError("unauthenticated", text);
}

/** @returns `null` for a caller that this isolate has not authenticated, such as that of an agent's own HTTP app */
export function credentialOf(caller: Caller): string | null {
  return credentials.get(caller)?.text ?? null;
}

/**
 * Returns when the credential of a caller expires, as this isolate has last read it. A session ends with its key, and
 * at the latest with its cookie.
 * @returns epoch milliseconds, `null` when it does not expire or is not known
 */
export function credentialEndOf(caller: Caller): number | null {
  const { ends_at_ms = Number.POSITIVE_INFINITY } = credentials.get(caller) ?? {};
  return Number.isFinite(ends_at_ms) ? ends_at_ms : null;
}

/**
 * Throws when a credential is no longer accepted. A token may expire, or a secret be rotated, while the principal stays
 * active.
 */
export async function assertCredentialValid(
  env: Env,
  credential: string,
  workspace_id: string,
): Promise<void> {
  await cachedCaller(env, credential, workspace_id);
}

function readCredential(headers: Headers): string {
  const key = headers.get("X-Api-Key")?.trim();
  if (key !== undefined && key !== "") return key;
  const authorization = headers.get("Authorization")?.trim() ?? "";
  const bearer = credentialIn(authorization);
  if (bearer !== authorization && /^\S+$/.test(bearer)) return bearer;
  const text = "API key required: send it as X-Api-Key or as Authorization: Bearer.";
  throw new AppError("unauthenticated", text);
}

function readTenant(headers: Headers): string | null {
  const tenant = headers.get("X-Tenant-Id")?.trim().toLowerCase() ?? "";
  if (tenant === "") return null;
  if (Uuid.safeParse(tenant).success) return tenant;
  throw invalid(["header", "X-Tenant-Id"], "must be the UUID of a workspace", "uuid_parsing");
}

function isJwt(credential: string): boolean {
  return !credential.startsWith(API_KEY_START) && credential.split(".").length === 3;
}
