import type { Actor, Caller, Context } from "../context.ts";
import { toGroups } from "../egress/addresses.ts";
import { AppError } from "../errors.ts";

/**
 * Limit of the calls of one caller in a window of time. `name` keeps the windows of limits apart. Each isolate counts for
 * itself: the limit protects from floods, and does not bill.
 */
export type RateLimit = { name: string; calls: number; in_s: number };

/** Requests without a caller, counted by the network they come from. */
const ANONYMOUS = { name: "anonymous", calls: 6000, in_s: 60 };
const FAILED_AUTHENTICATION = { name: "failed_authentication", calls: 6000, in_s: 60 };

/**
 * Maximum number of windows of each limit. Networks have other limits than callers, so they evict no window of a caller.
 */
const MAX_WINDOWS = 10_000;

type Window = { ends_at_ms: number; calls: number };
/** Windows of each limit by identity, the oldest first. */
const windows = new Map<string, Map<string, Window>>();

export function assertRate(
  { caller }: Pick<Context, "caller">,
  limit: RateLimit,
  now = Date.now(),
): void {
  countCall(identityOf(caller), limit, now);
}

/** Counts a call. @returns `false`, without counting it, when the caller has reached the limit */
export function tryCount(
  { caller }: Pick<Context, "caller">,
  limit: RateLimit,
  now = Date.now(),
): boolean {
  const window = windowOf(identityOf(caller), limit, now);
  if (window.calls >= limit.calls) return false;
  window.calls += 1;
  return true;
}

function identityOf({ workspace_id, actor }: Caller): string {
  return `${workspace_id}/${principalIdOf(actor)}`;
}

/** Limits requests whose caller is not known. @throws AppError `rate_limited` */
export function assertAnonymousRate(headers: Headers, now = Date.now()): void {
  const client = clientOf(headers);
  if (client !== null) countCall(client, ANONYMOUS, now);
}

/**
 * Counts the refusals of an authentication. `work` calls `assertRate` before it checks a credential that may be invalid,
 * and not for a credential that was valid a moment ago. `assertRate` throws when the network has reached the limit.
 *
 * @param scope keeps the refusals of one agent's own authentication apart from those of the workspaces.
 */
export async function limitFailures<T>(
  headers: Headers,
  scope: string,
  work: (assertRate: () => void) => Promise<T>,
): Promise<T> {
  const client = clientOf(headers);
  if (client === null) return work(() => {});
  const limit = FAILED_AUTHENTICATION;
  const key = `${scope}/${client}`;
  try {
    return await work(() => assertWithin(windowOf(key, limit, Date.now()), limit, Date.now()));
  } catch (error) {
    if (isRefusal(error)) countCall(key, limit, Date.now());
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof AppError && (error.status === 401 || error.status === 403);
}

function countCall(identity: string, limit: RateLimit, now: number): void {
  const window = windowOf(identity, limit, now);
  assertWithin(window, limit, now);
  window.calls += 1;
}

function assertWithin(window: Window, { calls, in_s }: RateLimit, now: number): void {
  if (window.calls < calls) return;
  const retry_after_seconds = Math.ceil((window.ends_at_ms - now) / 1000);
  const text = `More than ${calls} requests of this kind in ${in_s} s: retry in ${retry_after_seconds} s.`;
  throw new AppError("rate_limited", text, { retry_after_seconds });
}

function windowOf(identity: string, { name, in_s }: RateLimit, now: number): Window {
  const known = windows.get(name) ?? new Map<string, Window>();
  windows.set(name, known);
  const current = known.get(identity);
  if (current && current.ends_at_ms > now) return current;
  known.delete(identity);
  const [oldest] = known.keys();
  if (known.size >= MAX_WINDOWS && oldest !== undefined) known.delete(oldest);
  const window = { ends_at_ms: now + in_s * 1000, calls: 0 };
  known.set(identity, window);
  return window;
}

export function principalIdOf(actor: Actor): string {
  switch (actor.type) {
    case "api_key":
      return actor.key_id;
    case "user":
      return actor.user_id;
    case "agent_user":
      return `${actor.deployment_id}/${actor.identity}`;
    case "system":
      return actor.job;
  }
}

/**
 * Returns the network that a request comes from: an IPv4 address, or the /64 of an IPv6 address, because one customer has
 * all of it. Cloudflare sets the header and overwrites what a client sends. On one machine `local/front/wire.ts` sets it
 * to the address that a proxy on the machine sent, otherwise to the address of the connection.
 *
 * @returns `null` for an internal call, which comes from no network.
 */
export function clientOf(headers: Headers): string | null {
  const address = headers.get("CF-Connecting-IP")?.trim() ?? "";
  if (address === "") return null;
  const host = URL.parse(`https://[${address}]`)?.hostname;
  if (host === undefined) return address.slice(0, 45);
  const network = toGroups(host.slice(1, -1)).slice(0, 4);
  // This /64 has all IPv4 addresses in their mapped form, which are not those of one customer.
  if (network.every((group) => group === 0)) return host;
  return network.map((group) => group.toString(16)).join(":");
}
