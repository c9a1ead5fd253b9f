import type { ExtraDigest, RunChange } from "../changes.ts";
import { digestExtra } from "../digest.ts";
import { isObject, type JsonObject, parseObject } from "../json.ts";
import type { StoredOutline } from "./rows.ts";

export type MergedExtra = { text: string; digest: ExtraDigest };

/** Key by key, and so its metadata; null when either lies in R2 and one must take the other's place. */
export function mergeExtra(
  stored: StoredOutline,
  change: RunChange,
  adds: boolean,
): MergedExtra | null {
  const payload = change.payloads.extra;
  if (payload === undefined || !("text" in payload) || stored.pointers.extra) return null;
  const before = parseObject(stored.extra) ?? {};
  const said = parseObject(payload.text) ?? {};
  const merged = adds ? over(said, before) : over(before, said);
  return { text: JSON.stringify(merged), digest: digestExtra(merged) };
}

function over(below: JsonObject, above: JsonObject): JsonObject {
  const merged = { ...below, ...above };
  if (isObject(below.metadata) && isObject(above.metadata)) {
    merged.metadata = { ...below.metadata, ...above.metadata };
  }
  return merged;
}
