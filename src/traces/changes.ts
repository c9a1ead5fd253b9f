import type { Usage } from "./usage.ts";

/** Of a payload the text, or where in R2 it is. */
export type Payload = { text: string } | { key: string; bytes: number };
export const PAYLOADS = ["inputs", "outputs", "extra", "events", "serialized"] as const;
export type PayloadName = (typeof PAYLOADS)[number];

export type AttachedFile = { run_id: string; name: string; content_type: string; data: Uint8Array };
export type Attachment = { key: string; content_type: string; bytes: number };

/** What a client said of a trace run, only what it named: nothing that is absent here is ever erased. */
export type RunChange = {
  id: string;
  kind: "post" | "patch";
  columns: RunColumns;
  payloads: Partial<Record<PayloadName, Payload>>;
  tags?: string[];
  attachments?: Record<string, Attachment>;
  digest: Digest;
};

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

/** What search and statistics see of the payloads. */
export type Digest = {
  inputs?: PayloadDigest;
  outputs?: PayloadDigest & { usage: Usage | null };
  extra?: ExtraDigest;
  first_token_us?: number;
};

/** Metadata, inputs and outputs: what has keys and values that runs are found by. */
export type PairKind = "m" | "i" | "o";
/** `pairs` as `storage/migrations.ts` keeps them, and the terms of each. */
export type PairDigest = { pairs: string; terms: number[] };
export type PayloadDigest = PairDigest & { search: string };
export type ExtraDigest = PairDigest & { thread_id: string | null; usage: Usage | null };

/** A change with what its request knows of where it belongs. */
export type IncomingRun = RunChange & { session_id: string | null; session_name: string | null };
