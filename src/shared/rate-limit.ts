import type { Actor, Context } from "./context.ts";
import { AppError } from "./errors.ts";

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

type RateLimited = keyof typeof LIMITS;
type PublishedRead = keyof typeof PUBLISHED;

const MAX_CALLERS = 10_000;

type Window = { ends_at_ms: number; calls: number };
const windows = new Map<string, Window>();

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

function count({ caller }: Asked, what: string, { calls, in_s }: Limit, now: number): void {
  const key = `${what}/${caller.workspace_id}/${whoOf(caller.actor)}`;
  const window = windowOf(key, in_s, now);
  window.calls += 1;
  if (window.calls <= calls) return;
  const retry_after_seconds = Math.ceil((window.ends_at_ms - now) / 1000);
  const text = `More than ${calls} requests of this kind in ${in_s} s; try again in ${retry_after_seconds} s.`;
  throw new AppError("rate_limited", text, { retry_after_seconds });
}

function windowOf(key: string, in_s: number, now: number): Window {
  const known = windows.get(key);
  if (known && known.ends_at_ms > now) return known;
  if (windows.size >= MAX_CALLERS) windows.clear();
  const window = { ends_at_ms: now + in_s * 1000, calls: 0 };
  windows.set(key, window);
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
