/** Columns of the head as doubles; NaN is null. */
export const NUMBERS = [
  ...(["row", "seq", "changed_seq", "start_us", "end_us", "first_token_us"] as const),
  ...(["execution_order", "total_tokens", "prompt_tokens", "completion_tokens"] as const),
  ...(["input_keys", "output_keys"] as const),
] as const;

/** Columns of the head as 16 bytes. */
export const IDS = ["trace_id", "parent_run_id", "reference_example_id"] as const;

export const SHORT_TEXTS = [
  ...(["name", "run_type", "trace_tier", "dotted_order", "thread_id"] as const),
  ...(["total_cost", "prompt_cost", "completion_cost", "tags", "pointers"] as const),
] as const;

/** Columns of the body. */
export const LONG_TEXTS = [
  ...(["inputs", "outputs", "extra", "events", "serialized", "error", "digests"] as const),
] as const;

export type NumberName = (typeof NUMBERS)[number];
export type IdName = (typeof IDS)[number];
export type ShortName = (typeof SHORT_TEXTS)[number];
export type LongName = (typeof LONG_TEXTS)[number];

type Required = "row" | "seq" | "changed_seq" | "start_us";

/**
 * Whole version of a run. `name` and `run_type` are `null` until sent. `input_keys` and `output_keys`: numbers of keys that
 * the digests of the inputs and of the outputs may have. `digests`: JSON of the digests of payloads in R2.
 */
export type RunVersion = { id: string; trace_id: string; is_patched: boolean; terms: number[] } & {
  [name in Required]: number;
} & { [name in Exclude<NumberName, Required>]: number | null } & {
  [name in Exclude<IdName, "trace_id"> | ShortName | LongName]: string | null;
};
