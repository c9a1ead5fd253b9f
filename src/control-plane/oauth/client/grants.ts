import { decodeJwt } from "jose";
import { isRecord } from "../../../shared/guards.ts";
import { parseRetryAfter } from "../../../shared/work/backoff.ts";
import type { Grant, ProviderFailure } from "./provider-access.ts";

type Fields = Record<string, unknown>;
type Answer = { status: number; body: Fields; retry_after: string | null; host: string };

/** A token is refreshed a tenth of its life before it expires, and at most a minute before. */
const MAX_MARGIN_MS = 60_000;
const MARGIN_SHARE = 0.1;
/** Some providers send ten years and more for tokens without an end. The largest numbers exceed the range of `Date`. */
const ENDLESS_SECONDS = 10 * 365 * 86_400;
const MAX_LABEL = 200;
const MAX_MESSAGE = 300;
/** Pause before the next call of a provider that sends no Retry-After. */
export const RETRY_AFTER_SECONDS = 30;
const MAX_RETRY_AFTER_SECONDS = 3600;

/**
 * Parses the response of a token endpoint. GitHub and Slack send errors with status 200. Slack has the token of a user
 * in `authed_user`.
 */
export function readGrant(
  answer: Answer,
  now: number,
): { ok: true; grant: Grant } | ProviderFailure {
  const { status, body } = answer;
  const user = fields(body.authed_user);
  const access_token = text(body.access_token) ?? text(user.access_token);
  if (status >= 200 && status < 300 && access_token !== null) {
    return { ok: true, grant: toGrant({ ...user, ...body }, access_token, now) };
  }
  return toFailure(answer);
}

function toGrant(body: Fields, access_token: string, now: number): Grant {
  const seconds = Number(body.expires_in);
  const lives_ms = seconds > 0 && seconds < ENDLESS_SECONDS ? seconds * 1000 : null;
  const scope = text(body.scope);
  return {
    access_token,
    refresh_token: text(body.refresh_token),
    token_type: text(body.token_type) ?? "Bearer",
    expires_at: lives_ms === null ? null : toIso(now + lives_ms),
    refresh_at:
      lives_ms === null
        ? null
        : toIso(now + lives_ms - Math.min(MAX_MARGIN_MS, lives_ms * MARGIN_SHARE)),
    scopes: scope === null ? null : scope.split(/[ ,]+/).filter((part) => part !== ""),
    account_label: labelOf(body),
  };
}

/** The id token came from the token endpoint itself, so its claims need no signature to name an account. */
function labelOf(body: Fields): string | null {
  const claims = claimsOf(text(body.id_token));
  const label =
    text(claims.email) ??
    text(claims.preferred_username) ??
    text(fields(body.team).name) ??
    text(claims.sub);
  return label === null ? null : label.slice(0, MAX_LABEL);
}

function claimsOf(id_token: string | null): Fields {
  try {
    return decodeJwt(id_token ?? "");
  } catch {
    return {};
  }
}

function toFailure({ status, body, retry_after, host }: Answer): ProviderFailure {
  const error = text(body.error);
  const detail = providerMessage(body) ?? `status ${status}`;
  if (isTransient(status)) {
    return {
      ok: false,
      reason: "unavailable",
      message: `${host} answers ${status}; try again later.`,
      retry_after_seconds: retryAfter(retry_after, Date.now()),
    };
  }
  const ended = error !== null && ENDED.has(error);
  return { ok: false, reason: ended ? "ended" : "refused", message: `${host} answers: ${detail}` };
}

/** Errors after which only a new consent helps. The last two are GitHub's. */
const ENDED = new Set(["invalid_grant", "bad_refresh_token", "bad_verification_code"]);

export function isTransient(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}

/** Returns `error: description` of a provider, shortened for people. @returns `null` without an `error` */
export function providerMessage(body: Fields): string | null {
  const error = text(body.error);
  const description = text(body.error_description);
  if (error === null) return null;
  const shown = description === null ? error : `${error}: ${description}`;
  return shown.slice(0, MAX_MESSAGE);
}

/**
 * Returns the seconds to wait before the next call of a provider: those of its `Retry-After`, from 1 to 3600, or 30.
 */
export function retryAfter(header: string | null, now: number): number {
  const seconds = parseRetryAfter(header, now) ?? RETRY_AFTER_SECONDS;
  return Math.min(Math.max(seconds, 1), MAX_RETRY_AFTER_SECONDS);
}

export function fields(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

export function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}
