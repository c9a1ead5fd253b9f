import type { Usage } from "./usage.ts";

/** JSON of a payload, or the key of its object in R2 and the size of its JSON in UTF-8. */
export type Payload = { text: string } | { key: string; bytes: number };
export const PAYLOADS = ["inputs", "outputs", "extra", "events", "serialized"] as const;
export type PayloadName = (typeof PAYLOADS)[number];

export type AttachedFile = { run_id: string; name: string; content_type: string; data: Uint8Array };
export type StoredAttachment = { key: string; content_type: string; bytes: number };

/** Change of one trace run: fields that were sent, and data that follows from them. A missing field was not sent. */
export type RunChange = {
  id: string;
  kind: "post" | "patch";
  columns: RunColumns;
  payloads: Partial<Record<PayloadName, Payload>>;
  tags?: string[];
  attachments?: Record<string, StoredAttachment>;
  digest: Digest;
  /** Default tier of the project, for a new run whose columns have no `trace_tier`. */
  project_tier?: TraceTier;
  /** Other ids by which child spans name this run. Only OTLP spans have this list, which may be empty. */
  span_ids?: string[];
};

export type TraceTier = "longlived" | "shortlived";

export type RunColumns = {
  trace_id?: string;
  parent_run_id?: string;
  name?: string;
  run_type?: string;
  start_us?: number;
  end_us?: number;
  error?: string;
  dotted_order?: string;
  reference_example_id?: string;
  trace_tier?: string;
  execution_order?: number;
};

/** Data that is computed from the payloads of a change: terms of the index, usage, thread, time of the first token. */
export type Digest = {
  inputs?: PairDigest;
  outputs?: PairDigest & { usage: Usage | null };
  extra?: ExtraDigest;
  first_token_us?: number;
};

/** Source of a pair: `m` for the metadata of `extra`, `i` for inputs, `o` for outputs. */
export type PairSource = "m" | "i" | "o";
/** Dotted path, value as text, and value as number, `null` unless it is a finite number. */
export type Pair = [key: string, value: string, number: number | null];
/** Pairs that filters read, and the text that `search` reads. The digest of `extra` has no text. */
export type KeptDigest = { pairs: readonly Pair[]; search?: string };
/**
 * Terms of the indexed pairs. `keys`: maximum number of different keys in these pairs. `kept` is set only for payloads
 * in R2: reads compute the same data from the text of any other payload.
 */
export type PairDigest = { terms: number[]; keys: number; kept?: KeptDigest };
export type ExtraDigest = PairDigest & { thread_id: string | null; usage: Usage | null };

/** Project and UTC day of a run. */
export type Home = { project_id: string; day: string };

/** Key of a partition, in its object's name and in D1. */
export type PartitionKey = Home & { slot: number };

/** Change with the id or the name of the project in its request. Both are `null` when the request names none. */
export type IncomingRun = RunChange & { session_id: string | null; session_name: string | null };
