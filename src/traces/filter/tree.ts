import type { PairSource as StoredKind } from "../changes.ts";

export type Comparator = "eq" | "neq" | "gt" | "gte" | "lt" | "lte";
export type Operand = string | number;

/**
 * Pattern with % and _, split when longer than SQLite's limit. ASCII letters match in either case.
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

/** Pairs of metadata, inputs and outputs, or rows of feedback. */
export type PairKind = StoredKind | "feedback";
export type PairPart = "key" | "value" | "score" | "source";

export type PairTest = { kind: "pair"; of: PairKind; part: PairPart; condition: Condition };
export type Leaf = { key: string; value: string; number: number | null };

export type Filter =
  | { kind: "and" | "or"; filters: Filter[] }
  | { kind: "not"; filter: Filter }
  | { kind: "column"; sql: string; condition: Condition }
  | { kind: "tag"; condition: Condition }
  | PairTest
  | { kind: "contains"; of: PairKind; leaves: Leaf[] }
  | { kind: "key"; of: PairKind; key: string }
  | { kind: "project"; ids: string[]; is: boolean }
  | { kind: "cursor"; op: Comparator; start_us: number; id: string | null }
  | { kind: "words"; words: string[] };
