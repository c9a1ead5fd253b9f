import { eq } from "drizzle-orm";
import { type Actor, type Caller, database } from "../../../shared/context.ts";
import { sha256Hex } from "../../../shared/crypto/crypto.ts";
import { AppError } from "../../../shared/errors.ts";
import { limitFailures } from "../../../shared/http/rate-limit.ts";
import { VERSION } from "../../../shared/http/version.ts";
import { among } from "../../../shared/storage/sql.ts";
import type { Credential } from "../access.ts";
import { credentialOf, resolvePrincipal } from "../auth.ts";
import { readRegions } from "../configuration.ts";
import { findApiKey } from "../credentials.ts";
import { recordEnd } from "../ended-sessions.ts";
import {
  type ConsoleSession,
  openSession,
  SESSION_START,
  sealSession,
  sessionCookie,
} from "../session-token.ts";
import { api_keys, organizations, users } from "../table.ts";
import type { Me, SessionCreateRequest } from "./session-schema.ts";

const SESSION_S = 12 * 60 * 60;
export const MAX_WORKSPACES = 1000;
/** Organization of an ended session whose principal reaches no workspace. */
const NO_ORGANIZATION = "";

type SignedIn = { me: Me; cookie: string };

/** Exchanges a key for a session, which expires after 12 hours, or when the key does. */
export function createSession(
  env: Env,
  headers: Headers,
  { api_key }: SessionCreateRequest,
): Promise<SignedIn> {
  return limitFailures(headers, "workspaces", async (assertRate) => {
    assertRate();
    assertOwnPage(headers);
    const sha256 = sha256Hex(api_key);
    const found = await findApiKey(database(env), sha256, null, MAX_WORKSPACES);
    if (found === null) throw new AppError("unauthenticated", "Invalid API key.");
    return signIn(env, found, { sha256 });
  });
}

/** Creates a session for an authenticated principal. */
export async function signIn(
  env: Env,
  credential: Credential,
  principal: ConsoleSession["principal"],
): Promise<SignedIn> {
  const ends = new Date(Date.now() + SESSION_S * 1000).toISOString();
  const { expires_at: key_ends } = credential;
  const expires_at = key_ends !== null && key_ends < ends ? key_ends : ends;
  const token = await sealSession(env, { principal, expires_at });
  const me = await describe(env, credential, expires_at);
  return { me, cookie: sessionCookie(token, SESSION_S) };
}

/** Describes the caller of the request. */
export async function getMe(env: Env, headers: Headers): Promise<Me> {
  const found = await resolvePrincipal(env, headers, MAX_WORKSPACES);
  return describe(env, found.credential, found.session_expires_at);
}

/** Ends the session of the request, if it has one. */
export async function endSession(env: Env, headers: Headers): Promise<void> {
  const token = /^Bearer (hds_\S+)$/.exec(headers.get("Authorization") ?? "")?.[1];
  if (token === undefined) return;
  const session = await openSession(env, token).catch(nullIfUnauthenticated);
  if (session === null) return;
  const found = await resolvePrincipal(env, headers, MAX_WORKSPACES).catch(nullIfUnauthenticated);
  const reached = found?.credential.reaches.map(({ organization_id }) => organization_id) ?? [];
  // The end is recorded without a workspace too: an admin may add the person again before the session expires.
  const organization_ids = reached.length > 0 ? [...new Set(reached)] : [NO_ORGANIZATION];
  await recordEnd(database(env), { token, expires_at: session.expires_at, organization_ids });
}

function nullIfUnauthenticated(error: unknown): null {
  if (AppError.from(error).code === "unauthenticated") return null;
  throw error;
}

/** Returns which client a caller uses: a session is the console's. */
export function clientOf(caller: Caller): "api" | "console" {
  return credentialOf(caller)?.startsWith(SESSION_START) ? "console" : "api";
}

/** A form of another site could sign a browser in as another principal. */
function assertOwnPage(headers: Headers): void {
  if ((headers.get("Sec-Fetch-Site") ?? "same-origin") === "same-origin") return;
  throw new AppError("forbidden", "A session is created by a page of this origin only.");
}

async function describe(
  env: Env,
  { actor, reaches }: Credential,
  session_expires_at: string | null,
): Promise<Me> {
  const [first] = reaches;
  if (first === undefined) throw new AppError("unauthenticated", "Invalid API key.");
  const ids = [...new Set(reaches.map(({ organization_id }) => organization_id))];
  const [actorFields, found] = await Promise.all([
    describeActor(env, actor),
    database(env)
      .select({ id: organizations.id, name: organizations.name, plan: organizations.plan })
      .from(organizations)
      .where(among(organizations.id, ids)),
  ]);
  const organization = found.find(({ id }) => id === first.organization_id);
  if (organization === undefined) throw new AppError("unauthenticated", "Invalid API key.");
  return {
    actor: actorFields,
    organization,
    organizations: found.map(({ id, name }) => ({ id, name })),
    workspaces: reaches.flatMap(({ workspace_id: id, workspace_name: name, role }) =>
      id === null || name === null || role === null ? [] : [{ id, name, role }],
    ),
    region: env.DATA_JURISDICTION || null,
    regions: readRegions(env.REGIONS),
    examples_url: env.EXAMPLES_URL || null,
    version: VERSION,
    session_expires_at,
  };
}

async function describeActor(env: Env, actor: Actor): Promise<Me["actor"]> {
  const db = database(env);
  const user_id = "user_id" in actor ? actor.user_id : null;
  if (user_id !== null) {
    const [user] = await db.select({ name: users.email }).from(users).where(eq(users.id, user_id));
    return { type: "user", id: user_id, name: user?.name ?? user_id };
  }
  if (actor.type !== "api_key") throw new AppError("unauthenticated", "Invalid API key.");
  const [key] = await db
    .select({ prefix: api_keys.prefix })
    .from(api_keys)
    .where(eq(api_keys.id, actor.key_id));
  return { type: "api_key", id: actor.key_id, name: `${key?.prefix ?? actor.key_id}...` };
}
