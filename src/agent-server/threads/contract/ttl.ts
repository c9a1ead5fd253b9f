import { isRecord } from "../../../shared/guards.ts";

/** Retention after the last change of a thread, and the action at its end. */
export type Ttl = { strategy: "delete" | "keep_latest"; ttl_minutes: number };

export type ShownTtl = Ttl & { expires_at: string };

export const TTL_STRATEGIES = ["delete", "keep_latest"] as const;

// Ten years keep every expiry within the range of dates.
export const MAX_TTL_MINUTES = 10 * 366 * 24 * 60;

const MINUTE_MS = 60_000;

/** Returns the TTL of new threads by `checkpointer.ttl` of langgraph.json. @returns `null` without a valid one */
export function defaultTtl({ config }: { config: Record<string, unknown> | null }): Ttl | null {
  const checkpointer = config?.checkpointer;
  const ttl = isRecord(checkpointer) ? checkpointer.ttl : null;
  if (!isRecord(ttl)) return null;
  const { default_ttl, strategy } = ttl;
  if (typeof default_ttl !== "number" || !(default_ttl > 0 && default_ttl <= MAX_TTL_MINUTES)) {
    return null;
  }
  return {
    strategy: strategy === "keep_latest" ? "keep_latest" : "delete",
    ttl_minutes: default_ttl,
  };
}

/** @returns epoch milliseconds */
export function expiryOf({ ttl_minutes }: Ttl, changed_at: string): number {
  return Date.parse(changed_at) + ttl_minutes * MINUTE_MS;
}

export function toShown(ttl: Ttl, changed_at: string): ShownTtl {
  return { ...ttl, expires_at: new Date(expiryOf(ttl, changed_at)).toISOString() };
}
