import type { Position } from "./storage/query.ts";
import type { RunRow } from "./storage/rows.ts";

export type { Position };
export type ScanPlace = { project_id: string; day: string; slot: number };

/** Rows with from_us <= start_us < to_us, after `after`, up to and including `until`, min_seq < seq <= max_seq. */
export type ScanRange = {
  from_us: number;
  to_us: number;
  after: Position | null;
  until: Position | null;
  min_seq: number | null;
  max_seq: number;
};

/** A piece of one partition. `bytes` is an estimate of what a scan of all columns reads. */
export type ScanChunk = ScanRange & { place: ScanPlace; rows: number; bytes: number };

export type ScanRequest = {
  project_id: string;
  from_us: number;
  to_us: number;
  filter: string | null;
  /** By `${day}/${slot}`: only rows that came after this sequence. Absent: all. */
  min_seqs: Record<string, number> | null;
  /** By `${day}/${slot}`: no row that came after this sequence. Absent: what is there now. */
  max_seqs?: Record<string, number>;
  max_rows: number;
  max_bytes: number;
};

export type ScanPlan = { chunks: ScanChunk[]; watermarks: Record<string, number> };

export type RunColumn = Exclude<keyof RunRow, "pointers" | "seq">;
export type ScanColumn = RunColumn | "feedback_stats";

export type PageRequest = {
  columns: readonly ScanColumn[];
  filter: string | null;
  after: Position | null;
  max_bytes: number;
};

export type ScanValue = string | number | null;
export type ScanPage = {
  rows: number;
  columns: Record<string, ScanValue[]>;
  next: Position | null;
};
