import { invalid } from "../../shared/errors.ts";
import { isRecord } from "../../shared/guards.ts";
import { decodeCursor, encodeCursor } from "../../shared/http/cursor.ts";
import type { Home, PartitionKey } from "../changes.ts";
import type { ChangePosition } from "../reads/changed-runs.ts";

/** Position of a client that follows a trace. */
export type TraceCursor = {
  trace_id: string;
  /** Project and day of the root, `null` while they are unknown. */
  home: Home | null;
  /** Sequence up to which each partition was read, by `seqKey`. */
  seqs: Record<string, number>;
  /** Ids of the called traces whose runs were read. */
  called: string[];
};

export function writeTraceCursor({ trace_id, home, seqs, called }: TraceCursor): string {
  const { project_id, day } = home ?? {};
  return encodeCursor({ t: trace_id, p: project_id, d: day, w: seqs, c: called });
}

export function readTraceCursor(text: string, trace_id: string): TraceCursor {
  const { t, p, d, w, c } = decodeCursor(text);
  if (t !== trace_id || !isRecord(w)) {
    const rule = "is invalid; send the cursor of an earlier answer about this trace, or none";
    throw invalid(["query", "cursor"], rule);
  }
  const entries = Object.entries(w).filter(([, seq]) => Number.isSafeInteger(seq));
  const seqs = Object.fromEntries(entries.map(([key, seq]) => [key, Number(seq)]));
  const isHome = typeof p === "string" && typeof d === "string";
  const called = Array.isArray(c) ? c.filter((id) => typeof id === "string") : [];
  return { trace_id, home: isHome ? { project_id: p, day: d } : null, seqs, called };
}

export function seqKey({ project_id, day, slot }: PartitionKey): string {
  return `${project_id}/${day}/${slot}`;
}

/** Position of a client that follows a project. */
export type ChangesCursor = {
  project_id: string;
  /** Sequence, a time in microseconds, up to which all partitions without a position were read. */
  base: number;
  /** Last change that was read of each partition with changes after `base`, by `{day}/{slot}`. */
  positions: Record<string, ChangePosition>;
};

export function writeChangesCursor({ project_id, base, positions }: ChangesCursor): string {
  const list = Object.entries(positions).map(([key, { seq, row }]) => [key, seq, row]);
  return encodeCursor({ p: project_id, b: base, w: list });
}

export function readChangesCursor(text: string, project_id: string): ChangesCursor {
  const { p, b, w } = decodeCursor(text);
  const positions = Array.isArray(w) ? w.map(toPosition) : null;
  const isOwn = p === project_id && Number.isSafeInteger(b);
  if (isOwn && positions?.every((one) => one !== null)) {
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
