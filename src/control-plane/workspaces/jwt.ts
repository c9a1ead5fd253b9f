import { z } from "@hono/zod-openapi";
import { createRemoteJWKSet, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { AppError } from "../../shared/errors.ts";
import { TtlCache } from "../../shared/work/ttl-cache.ts";

export type Issuer = { issuer: string; audience: string; keys: JWTVerifyGetKey };
export type TokenIdentity = { subject: string; email: string | null; expires_at_ms: number };

/** No HS256: a key set is public, so a shared secret in it would prove nothing. */
const ALGORITHMS = ["RS256", "PS256", "ES256", "ES384", "EdDSA"];

/** Types of ID tokens and access tokens (RFC 9068). */
const TYPES = ["jwt", "at+jwt"];

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.url() });

/** How long a discovery document is used before it is read again: an issuer may move its keys. */
const DISCOVERY_MS = 600_000;

type KeySetAddress = { jwks_uri: string } | { error: unknown };

/** Only failures are cached: anonymous requests must not each call an issuer that is down. */
const FAILURE_MS = 5000;
const discoveries = new TtlCache<KeySetAddress>((found) => ("error" in found ? FAILURE_MS : 0));

type KeySet = { keys: JWTVerifyGetKey; jwks_uri: string; read_at_ms: number };
const keySets = new Map<string, KeySet>();

export async function verifyJwt(token: string, trusted: Issuer): Promise<TokenIdentity> {
  const { issuer, audience, keys } = trusted;
  // jose checks no audience when it is empty.
  if (audience === "") throw new AppError("unavailable", "OIDC_AUDIENCE is not set.");
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    requiredClaims: ["exp", "sub"],
  }).catch((error: unknown) => {
    if (!isRejection(error)) throw unavailable(issuer, error);
    const text = `The bearer token is not valid: ${error.message}.`;
    throw new AppError("unauthenticated", text, { cause: error });
  });
  assertForUs(payload, protectedHeader.typ, trusted);
  const { sub = "", exp = 0, email, email_verified } = payload;
  const isProven = typeof email === "string" && email_verified === true;
  return { subject: sub, email: isProven ? email : null, expires_at_ms: exp * 1000 };
}

/**
 * Refuses other kinds of JWT that an issuer signs, like logout tokens. A token with a second audience is held by
 * another application too, so its `azp` must name this one. URLs below the issuer are the issuer's own APIs, like
 * `/userinfo`.
 */
function assertForUs(payload: JWTPayload, typ: string | undefined, { issuer, audience }: Issuer) {
  if (typ !== undefined && !TYPES.includes(typ.toLowerCase().replace(/^application\//, ""))) {
    throw new AppError(
      "unauthenticated",
      `The bearer token has the type ${typ}: it must be JWT or at+jwt.`,
    );
  }
  // With a slash at the end, so that another host that begins alike is not below the issuer.
  const below = issuer.replace(/\/?$/, "/");
  const others = [payload.aud ?? []]
    .flat()
    .filter((each) => each !== audience && each !== issuer && !each.startsWith(below));
  if (others.length === 0 || payload.azp === audience) return;
  const text = "The bearer token has several audiences: its azp must be this installation.";
  throw new AppError("unauthenticated", text);
}

/**
 * Returns the issuer's key set by OIDC discovery; jose fetches and renews the keys. A known key set stays in use when
 * the discovery document cannot be read, until the next read ten minutes later.
 */
export async function issuerKeys(issuer: string, now = Date.now()): Promise<JWTVerifyGetKey> {
  const known = keySets.get(issuer);
  if (known && now < known.read_at_ms + DISCOVERY_MS) return known.keys;
  const jwks_uri = await discoverKeys(issuer).catch((error: unknown) => {
    if (known) return known.jwks_uri;
    throw error;
  });
  const keys = jwks_uri === known?.jwks_uri ? known.keys : createRemoteJWKSet(new URL(jwks_uri));
  keySets.set(issuer, { keys, jwks_uri, read_at_ms: now });
  return keys;
}

async function discoverKeys(issuer: string): Promise<string> {
  const found = await discoveries.get(issuer, () =>
    readDiscovery(issuer).then(
      (jwks_uri) => ({ jwks_uri }),
      (error: unknown) => ({ error }),
    ),
  );
  if ("error" in found) throw found.error;
  return found.jwks_uri;
}

async function readDiscovery(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) });
    return Discovery.parse(await response.json()).jwks_uri;
  } catch (error) {
    throw unavailable(issuer, error);
  }
}

/** jose's codes for an issuer whose response has no key set, or came too late. */
const KEY_SET_ERRORS = ["ERR_JOSE_GENERIC", "ERR_JWKS_INVALID", "ERR_JWKS_TIMEOUT"];

/** Errors of the token itself, as opposed to those of fetching its key. */
function isRejection(error: unknown): error is Error {
  if (!(error instanceof Error) || !("code" in error)) return false;
  const { code } = error;
  return typeof code === "string" && code.startsWith("ERR_J") && !KEY_SET_ERRORS.includes(code);
}

function unavailable(issuer: string, cause: unknown): AppError {
  const text = `The signing keys of ${issuer} are unavailable: retry.`;
  return new AppError("unavailable", text, { cause });
}
