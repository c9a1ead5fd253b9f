import type { PartitionKey } from "../changes.ts";
import type { PackedTexts } from "../rows/packed-texts.ts";
import type { Position, TraceRunRow } from "../rows/rows.ts";

export type { Position };

type TimeRange = { from_us: number; to_us: number };

/**
 * Rows with from_us <= start_us < to_us, after `after`, up to and including `until`. Rows have the start that they had
 * at the sequence `max_seq`. Rows that were in `scan_range` at the sequence `min_seq` are left out.
 */
export type ScanRange = {
  from_us: number;
  to_us: number;
  after: Position | null;
  until: Position | null;
  min_seq: number | null;
  max_seq: number;
  /**
   * Range of the whole scan. Plans of earlier releases lack it: they leave out runs that a patch has moved into it
   * since `min_seq`.
   */
  scan_range?: TimeRange | undefined;
};

/** Piece of one partition. `bytes` estimates the size of all columns. */
export type ScanChunk = ScanRange & { partition: PartitionKey; rows: number; bytes: number };

export type ScanRequest = {
  project_id: string;
  from_us: number;
  to_us: number;
  filter: string | null;
  /** Exclusive lower sequence by `${day}/${slot}`. Missing: no limit. */
  min_seqs: Record<string, number> | null;
  /** Inclusive upper sequence by `${day}/${slot}`. Missing: the newest. */
  max_seqs?: Record<string, number>;
  /** End of the range in partitions without an upper sequence. */
  unlimited_to_us?: number;
  max_rows: number;
  max_bytes: number;
};

export type ScanPlan = { chunks: ScanChunk[]; watermarks: Record<string, number> };

const NUMERIC = [
  ...(["start_us", "end_us", "first_token_us", "is_root", "execution_order"] as const),
  ...(["total_tokens", "prompt_tokens", "completion_tokens"] as const),
] satisfies (keyof TraceRunRow)[];

export type NumericColumn = (typeof NUMERIC)[number];
export type TextColumn = Exclude<RunColumn, NumericColumn>;

export function isNumeric(name: RunColumn): name is NumericColumn {
  return (NUMERIC as readonly string[]).includes(name);
}

export type RunColumn = Exclude<keyof TraceRunRow, "pointers" | "seq">;
export type ScanColumn = RunColumn | "feedback_stats";

export type PageRequest = {
  columns: readonly ScanColumn[];
  filter: string | null;
  after: Position | null;
  max_bytes: number;
};

export type ScanValue = string | number | null;
export type ScanColumns = Record<string, ScanValue[] | Float64Array | PackedTexts>;
/**
 * Rows of a page as columns. Texts are packed, except those that the scan computes or fetches. NaN in a column of numbers
 * is null.
 */
export type ScanPart = { rows: number; columns: ScanColumns };
export type ScanPage = { parts: ScanPart[]; next: Position | null };
