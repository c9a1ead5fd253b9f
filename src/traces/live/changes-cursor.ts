import { decodeText, encodeText } from "../../shared/crypto/encoding.ts";
import { invalid } from "../../shared/errors.ts";
import { isRecord } from "../../shared/guards.ts";
import type { ChangePosition } from "../reads/changed-runs.ts";

/**
 * Position of a follower in each partition that changed lately, by `{day}/{slot}`. All other
 * partitions are read up to `base`.
 */
export type ChangesCursor = {
  project_id: string;
  base: number;
  positions: Record<string, ChangePosition>;
};

export function writeChangesCursor({ project_id, base, positions }: ChangesCursor): string {
  const list = Object.entries(positions).map(([key, { seq, row }]) => [key, seq, row]);
  return encodeText(JSON.stringify({ p: project_id, b: base, w: list }), "base64url");
}

export function readChangesCursor(text: string, project_id: string): ChangesCursor {
  const { p, b, w } = parse(text);
  const positions = Array.isArray(w) ? w.map(toPosition) : [null];
  if (p === project_id && Number.isSafeInteger(b) && positions.every((one) => one !== null)) {
    return { project_id, base: Number(b), positions: Object.fromEntries(positions) };
  }
  const rule = "is invalid; send the cursor of an earlier answer about this project, or none";
  throw invalid(["body", "cursor"], rule);
}

function toPosition(entry: unknown): [string, ChangePosition] | null {
  if (!Array.isArray(entry)) return null;
  const [key, seq, row]: unknown[] = entry;
  const isRow = row === null || Number.isSafeInteger(row);
  if (typeof key !== "string" || !Number.isSafeInteger(seq) || !isRow) return null;
  return [key, { seq: Number(seq), row: row === null ? null : Number(row) }];
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(decodeText(text, "base64url"));
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}
