import { isShallow, MAX_DEPTH } from "../../../shared/http/depth.ts";
import type { BuildFailureReason } from "../contract.ts";
import { BuildFailure } from "../failure.ts";
import { bytesText } from "../text.ts";
import { parseJson } from "./json.ts";

/**
 * Parses a JSON file of the source. Its depth is limited because later steps recurse over the value. `max_bytes` is
 * compared with the characters of `text`, which are never more than its bytes.
 */
export function readJson(
  path: string,
  text: string,
  max_bytes: number,
  reason: BuildFailureReason,
): unknown {
  assertSize(path, text.length, max_bytes, reason);
  const parsed = parseJson(text);
  if (!parsed.ok) {
    const { line, column, text: why } = parsed.mistake;
    throw new BuildFailure(reason, `${path}:${line}:${column}: not JSON: ${why}.`);
  }
  if (!isShallow(parsed.value)) {
    throw new BuildFailure(reason, `${path}: it is nested more than ${MAX_DEPTH} levels deep.`);
  }
  return parsed.value;
}

export function assertSize(
  path: string,
  bytes: number,
  max_bytes: number,
  reason: BuildFailureReason,
): void {
  if (bytes <= max_bytes) return;
  const sizes = `${bytesText(bytes)}; it may have ${bytesText(max_bytes)}`;
  throw new BuildFailure(reason, `${path} has ${sizes}.`);
}
