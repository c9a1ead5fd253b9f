import { decodeText, encodeText } from "../../shared/crypto/encoding.ts";
import { invalid } from "../../shared/errors.ts";
import { isRecord } from "../../shared/guards.ts";
import type { PartitionKey } from "../changes.ts";
import type { Home } from "../object/catalogue.ts";

/** Position of a follower: the newest sequence that it has read of each partition. */
export type TraceCursor = { trace_id: string; home: Home | null; seqs: Record<string, number> };

export function writeTraceCursor({ trace_id, home, seqs }: TraceCursor): string {
  const { project_id, day } = home ?? {};
  return encodeText(JSON.stringify({ t: trace_id, p: project_id, d: day, w: seqs }), "base64url");
}

export function readTraceCursor(text: string, trace_id: string): TraceCursor {
  const { t, p, d, w } = parse(text);
  if (t !== trace_id || !isRecord(w)) {
    const rule = "is invalid; send the cursor of an earlier answer about this trace, or none";
    throw invalid(["query", "cursor"], rule);
  }
  const entries = Object.entries(w).filter(([, seq]) => Number.isSafeInteger(seq));
  const seqs = Object.fromEntries(entries.map(([key, seq]) => [key, Number(seq)]));
  const isHome = typeof p === "string" && typeof d === "string";
  return { trace_id, home: isHome ? { project_id: p, day: d } : null, seqs };
}

export function seqKey({ project_id, day, slot }: PartitionKey): string {
  return `${project_id}/${day}/${slot}`;
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(decodeText(text, "base64url"));
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}
