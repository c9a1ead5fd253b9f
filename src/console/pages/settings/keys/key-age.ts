import { formatDuration, formatTime } from "../../../ui/formats.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const UNUSED_DAYS = 90;
const EXPIRING_DAYS = 14;

/** Returns the name of a key. One without a name has the first characters of its secret. */
export function keyName({ description, short_key }: { description: string; short_key: string }) {
  return description.trim() || `Unnamed key ${short_key}`;
}

/** Times of a key, as `ApiKey` has them. */
type KeyTimes = { created_at: string; last_used_at: string | null; expires_at: string | null };

export type MarkedText = { text: string; isMarked: boolean };

/** Marks a key without a request for 90 days. The service stores the time of a request at most once a day. */
export function usageText(
  { last_used_at, created_at }: Pick<KeyTimes, "last_used_at" | "created_at">,
  now: number,
): MarkedText {
  const days = Math.floor((now - Date.parse(last_used_at ?? created_at)) / DAY_MS);
  const isMarked = days >= UNUSED_DAYS;
  if (last_used_at === null) return { text: "never", isMarked };
  return { text: days < 1 ? "within a day" : `${days} d ago`, isMarked };
}

/** Marks a key that expires within 14 days. */
export function expiryText({ expires_at }: Pick<KeyTimes, "expires_at">, now: number): MarkedText {
  if (expires_at === null) return { text: "never", isMarked: false };
  const left = Date.parse(expires_at) - now;
  if (left <= 0) return { text: "expired", isMarked: true };
  if (left > EXPIRING_DAYS * DAY_MS) return { text: formatTime(expires_at), isMarked: false };
  return { text: `in ${formatDuration(left)}`, isMarked: true };
}
