import type { PayloadName, StoredAttachment } from "../changes.ts";

export type Pointers = Partial<Record<PayloadName, { key: string; bytes: number }>> & {
  attachments?: Record<string, StoredAttachment>;
  /**
   * Original texts that a column cannot hold because they are not well-formed Unicode. Former starts are in here because
   * earlier releases take every other key of the pointers for a payload.
   */
  exact?: { name?: string; error?: string; former_starts?: FormerStart[] };
  /** Bytes of objects in R2 that no pointer names any more; `true` where they were not counted. */
  replaced?: number | true | undefined;
};

/** Start of a run before the change with the sequence `until_seq`. Kept in the order of the changes. */
export type FormerStart = { until_seq: number; start_us: number };

/** Place in a list of runs by start time. */
export type Position = { start_us: number; id: string };

/** Row of a query; columns that were not selected are missing. */
export type TraceRunRow = {
  id: string;
  trace_id: string;
  parent_run_id: string | null;
  name: string;
  run_type: string;
  start_us: number;
  end_us: number | null;
  status: "pending" | "success" | "error";
  error: string | null;
  is_root: number;
  /** `null` while runs above it are missing, and for spans that are too deep in their trace. */
  dotted_order: string | null;
  thread_id: string | null;
  reference_example_id: string | null;
  trace_tier: string | null;
  execution_order: number | null;
  total_tokens: number | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  total_cost: string | null;
  prompt_cost: string | null;
  completion_cost: string | null;
  first_token_us: number | null;
  tags: string | null;
  inputs: string | null;
  outputs: string | null;
  extra: string | null;
  events: string | null;
  serialized: string | null;
  pointers: string | null;
  seq: number;
};

export type Columns = readonly (keyof TraceRunRow)[];

export type FeedbackRow = {
  id: string;
  run_id: string;
  key: string;
  score: number | null;
  value: string | null;
  source: string | null;
  comment: string | null;
  body: string;
  created_at: string;
  /** `null` until changed. */
  modified_at: string | null;
};

/**
 * Longer values of feedback are counted by their beginning: the totals of a partition are one value in D1, which holds
 * 2 MB.
 */
export const MAX_SHOWN_CHARS = 250;
export const SHOWN_VALUE = `substr(value, 1, ${MAX_SHOWN_CHARS})`;

/** Columns of feedback that filters test. */
export type FeedbackEntry = Pick<FeedbackRow, "key" | "score" | "value" | "source">;
