import type { Actor, Context } from "./context.ts";
import { AppError } from "./errors.ts";

/** Calls a minute of one caller. Each isolate counts for itself: it protects from floods, it does not bill. */
const LIMITS = {
  ingest: 5000,
  feedback: 5000,
  read: 2000,
  delete_project: 30,
  /** Of the control plane and of exports; log queries and polls of a CI with many jobs fit in. */
  control_read: 3000,
  control_write: 600,
} as const;
export type RateLimited = keyof typeof LIMITS;

const WINDOW_MS = 60_000;
const MAX_CALLERS = 10_000;

type Window = { ends_at_ms: number; calls: number };
const windows = new Map<string, Window>();

export function assertRate(
  { caller }: Pick<Context, "caller">,
  what: RateLimited,
  now = Date.now(),
): void {
  const key = `${what}/${caller.workspace_id}/${whoOf(caller.actor)}`;
  const window = windowOf(key, now);
  window.calls += 1;
  if (window.calls <= LIMITS[what]) return;
  const retry_after_seconds = Math.ceil((window.ends_at_ms - now) / 1000);
  const text = `More than ${LIMITS[what]} requests of this kind in a minute; try again in ${retry_after_seconds} s.`;
  throw new AppError("rate_limited", text, { retry_after_seconds });
}

function windowOf(key: string, now: number): Window {
  const known = windows.get(key);
  if (known && known.ends_at_ms > now) return known;
  if (windows.size >= MAX_CALLERS) windows.clear();
  const window = { ends_at_ms: now + WINDOW_MS, calls: 0 };
  windows.set(key, window);
  return window;
}

export function whoOf(actor: Actor): string {
  switch (actor.type) {
    case "api_key":
      return actor.key_id;
    case "user":
      return actor.user_id;
    case "system":
      return actor.job;
  }
}
