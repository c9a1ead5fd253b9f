import type { PairSource as StoredKind } from "../changes.ts";
import type { TraceRunRow } from "../rows/rows.ts";
import type { Usage } from "../usage.ts";

export type Comparator = "eq" | "neq" | "gt" | "gte" | "lt" | "lte";
export type Operand = string | number;

/**
 * Pattern with % and _. `short`: as it was written. `exact`: a long text without %. `around`: a long text that begins with
 * `start`, ends with `end`, and has `middle` between. `readLikePattern` refuses other long patterns. Letters match in either
 * case.
 */
export type LikePattern =
  | { kind: "short"; text: string }
  | { kind: "exact"; text: string }
  | { kind: "around"; start: string; middle: string; end: string };

/** Test of one value. Times and durations are microseconds, booleans 0 and 1. */
export type Condition =
  | { op: Comparator; operand: Operand }
  | { op: "null" | "set" }
  | { op: "in"; operands: Operand[] }
  | { op: "like"; pattern: LikePattern }
  | { op: "search"; text: string };

/** Value of a run. A run without tokens has those of the runs below it; a run without costs has their costs. */
export type FilterColumn =
  | keyof Usage
  | "latency"
  | keyof Pick<TraceRunRow, "id" | "trace_id" | "parent_run_id" | "reference_example_id">
  | keyof Pick<TraceRunRow, "thread_id" | "name" | "run_type" | "status" | "error" | "is_root">
  | keyof Pick<TraceRunRow, "start_us" | "end_us" | "first_token_us">
  | keyof Pick<TraceRunRow, "execution_order" | "trace_tier">;

/** Pairs of metadata, inputs and outputs, or rows of feedback. */
export type PairKind = StoredKind | "feedback";
export type PairPart = "key" | "value" | "score" | "source";

export type PairTest = { kind: "pair"; of: PairKind; part: PairPart; condition: Condition };
/** Pair that an object must contain. `number` is the value when that is a number. */
export type Leaf = { key: string; value: string; number: number | null };

export type Filter =
  | { kind: "and" | "or"; filters: Filter[] }
  | { kind: "not"; filter: Filter }
  | { kind: "column"; name: FilterColumn; condition: Condition }
  | { kind: "tag"; condition: Condition }
  | PairTest
  | { kind: "contains"; of: PairKind; leaves: Leaf[] }
  | { kind: "key"; of: PairKind; key: string }
  /** `is`: whether the project must be one of the ids, or must not. */
  | { kind: "project"; ids: string[]; is: boolean }
  | { kind: "cursor"; op: Comparator; start_us: number; id: string | null }
  | { kind: "words"; words: string[] };
