import type { Actor, Context } from "../context.ts";
import { AppError } from "../errors.ts";
import { clientOf } from "./client-address.ts";

type Limit = { calls: number; in_s: number };

/** Calls of one caller. Each isolate counts for itself: it protects from floods, it does not bill. */
const LIMITS = {
  ingest: { calls: 5000, in_s: 60 },
  feedback: { calls: 5000, in_s: 60 },
  read: { calls: 2000, in_s: 60 },
  delete_project: { calls: 30, in_s: 60 },
  /** Of the control plane and of exports; log queries and polls of a CI with many jobs fit in. */
  control_read: { calls: 3000, in_s: 60 },
  control_write: { calls: 600, in_s: 60 },
} as const satisfies Record<string, Limit>;

/** What the published service allows beside them, where PUBLISHED_READ_LIMITS is "true". */
const PUBLISHED = {
  get_run: { calls: 30, in_s: 60 },
  query_week: { calls: 10, in_s: 10 },
  query_longer: { calls: 3, in_s: 10 },
} as const satisfies Record<string, Limit>;

/** Requests without a caller, counted by the network they come from. */
const NETWORK_LIMITS = {
  anonymous: { calls: 6000, in_s: 60 },
  failed_authentication: { calls: 6000, in_s: 60 },
} as const satisfies Record<string, Limit>;

type RateLimited = keyof typeof LIMITS;
type PublishedRead = keyof typeof PUBLISHED;

/** Per limit, so that no number of networks evicts the window of a caller. */
const MAX_WINDOWS = 10_000;

type Window = { ends_at_ms: number; calls: number };
/** Windows of each limit by identity, the oldest first. */
const windows = new Map<string, Map<string, Window>>();

type Asked = Pick<Context, "caller">;

export function assertRate(asked: Asked, what: RateLimited, now = Date.now()): void {
  count(asked, what, LIMITS[what], now);
}

/** A read of traces: within the limit of all reads, and within its own where that is switched on. */
export function assertReadRate(
  { env, caller }: Pick<Context, "caller" | "env">,
  what: PublishedRead,
  now = Date.now(),
): void {
  assertRate({ caller }, "read", now);
  if (env.PUBLISHED_READ_LIMITS === "true") count({ caller }, what, PUBLISHED[what], now);
}

/** Limits what answers before it knows a caller, or without one. */
export function assertAnonymousRate(headers: Headers, now = Date.now()): void {
  const client = clientOf(headers);
  if (client !== null) countCall("anonymous", client, NETWORK_LIMITS.anonymous, now);
}

/**
 * Counts the refusals of an authentication. `assertRate` throws when the network has reached the limit: call
 * it before work for a credential that may be invalid, and not for one that was valid a moment ago.
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
  const what = "failed_authentication";
  const limit = NETWORK_LIMITS[what];
  const key = `${scope}/${client}`;
  try {
    return await work(() =>
      assertWithin(windowOf(what, key, limit, Date.now()), limit, Date.now()),
    );
  } catch (error) {
    if (isRefusal(error)) countCall(what, key, limit, Date.now());
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof AppError && (error.status === 401 || error.status === 403);
}

function count({ caller }: Asked, what: string, limit: Limit, now: number): void {
  countCall(what, `${caller.workspace_id}/${whoOf(caller.actor)}`, limit, now);
}

function countCall(what: string, identity: string, limit: Limit, now: number): void {
  const window = windowOf(what, identity, limit, now);
  assertWithin(window, limit, now);
  window.calls += 1;
}

function assertWithin(window: Window, { calls, in_s }: Limit, now: number): void {
  if (window.calls < calls) return;
  const retry_after_seconds = Math.ceil((window.ends_at_ms - now) / 1000);
  const text = `More than ${calls} requests of this kind in ${in_s} s: retry in ${retry_after_seconds} s.`;
  throw new AppError("rate_limited", text, { retry_after_seconds });
}

function windowOf(what: string, identity: string, { in_s }: Limit, now: number): Window {
  const known = windows.get(what) ?? new Map<string, Window>();
  windows.set(what, known);
  const current = known.get(identity);
  if (current && current.ends_at_ms > now) return current;
  known.delete(identity);
  const [oldest] = known.keys();
  if (known.size >= MAX_WINDOWS && oldest !== undefined) known.delete(oldest);
  const window = { ends_at_ms: now + in_s * 1000, calls: 0 };
  known.set(identity, window);
  return window;
}

export function whoOf(actor: Actor): string {
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
