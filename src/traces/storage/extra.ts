import { Buffer } from "node:buffer";
import { isRecord } from "../../shared/guards.ts";
import type { ExtraDigest, RunChange } from "../changes.ts";
import { digestExtra } from "../digest.ts";
import { parseToWrite } from "../exact-json.ts";
import type { JsonObject } from "../json.ts";
import { MAX_EXTRA_BYTES } from "../limits.ts";
import type { MergeBase } from "./merge.ts";

export type MergedExtra = { text: string; digest: ExtraDigest };

/**
 * Merges extra and its metadata key by key.
 * @param adds whether the stored value of a key wins over the one of the change
 * @returns `null` when the change has no extra, when one of both is in R2, or when the result has more than
 * `MAX_EXTRA_BYTES`. In the last two cases the caller keeps only one of both
 */
export function mergeExtra(
  stored: MergeBase,
  change: RunChange,
  adds: boolean,
): MergedExtra | null {
  const payload = change.payloads.extra;
  if (payload === undefined || !("text" in payload) || stored.pointers.extra) return null;
  const before = objectOf(stored.extra ?? "{}");
  const sent = objectOf(payload.text);
  const text = JSON.stringify(adds ? over(sent, before) : over(before, sent));
  if (Buffer.byteLength(text) > MAX_EXTRA_BYTES) return null;
  return { text, digest: digestExtra(JSON.parse(text)) };
}

function objectOf(text: string): JsonObject {
  const value = parseToWrite(text);
  return isRecord(value) ? value : {};
}

function over(below: JsonObject, above: JsonObject): JsonObject {
  const merged = { ...below, ...above };
  if (isRecord(below.metadata) && isRecord(above.metadata)) {
    merged.metadata = { ...below.metadata, ...above.metadata };
  }
  return merged;
}
