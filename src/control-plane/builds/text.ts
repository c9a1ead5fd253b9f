import { MESSAGE_CHARACTERS } from "./limits.ts";

/** Numbers as people read them in a build's log. */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function durationText(ms: number): string {
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** The first few of a list, and how many more there are. */
export function listText(items: readonly string[], max = 5): string {
  if (items.length <= max) return items.join(", ");
  return `${items.slice(0, max).join(", ")} and ${items.length - max} more`;
}

/** Messages quote the source, which may have lines of megabytes. */
export function cutMessage(text: string): string {
  return text.length <= MESSAGE_CHARACTERS ? text : `${text.slice(0, MESSAGE_CHARACTERS - 1)}…`;
}
