import type { FilterColumn, PairKind, PairPart } from "./tree.ts";

export const FUNCTIONS = [
  "and",
  "or",
  "not",
  "eq",
  "neq",
  "gt",
  "gte",
  "lt",
  "lte",
  "in",
  "has",
  "search",
  "like",
  "exists",
] as const;
export type FunctionName = (typeof FUNCTIONS)[number];

/** Type of the literals that a field takes. `READERS` reads each. */
export type FieldType =
  | "text"
  | "name"
  | "number"
  | "score"
  | "duration"
  | "time"
  | "boolean"
  | "error"
  | "key"
  | "indexed"
  | "scalar"
  | "cursor";

export type Source =
  | { kind: "column"; name: FilterColumn }
  | { kind: "pair"; of: PairKind; part: PairPart }
  | { kind: "object"; of: PairKind }
  | { kind: "tag" | "project" | "cursor" };

export type Field = {
  type: FieldType;
  functions: readonly FunctionName[];
  /** Whether `null` in eq and neq tests for a missing value. */
  nullable: boolean;
  source: Source;
};

const EQUAL = ["eq", "neq"] as const;
const ORDER = ["gt", "gte", "lt", "lte"] as const;
const TEXT = [...EQUAL, "in", "like", "search"] as const;
const NUMBER = [...EQUAL, ...ORDER, "in"] as const;
const KEY = [...TEXT, "exists"] as const;
const VALUE = [...EQUAL, ...ORDER, "in", "like", "search"] as const;
const OBJECT = ["has", "exists", "search"] as const;

const FIELDS = {
  id: column("name", TEXT, "id"),
  trace_id: column("name", TEXT, "trace_id"),
  session_id: field("name", [...EQUAL, "in"], { kind: "project" }),
  parent_run_id: column("name", TEXT, "parent_run_id", true),
  reference_example_id: column("name", TEXT, "reference_example_id", true),
  thread_id: column("text", TEXT, "thread_id", true),
  name: column("text", TEXT, "name"),
  run_type: column("name", TEXT, "run_type"),
  status: column("name", TEXT, "status"),
  error: column("error", [...EQUAL, "like", "search"], "error", true),
  is_root: column("boolean", EQUAL, "is_root"),
  start_time: column("time", NUMBER, "start_us"),
  end_time: column("time", NUMBER, "end_us", true),
  first_token_time: column("time", NUMBER, "first_token_us", true),
  latency: column("duration", NUMBER, "latency", true),
  execution_order: column("number", NUMBER, "execution_order", true),
  total_tokens: column("number", NUMBER, "total_tokens", true),
  prompt_tokens: column("number", NUMBER, "prompt_tokens", true),
  completion_tokens: column("number", NUMBER, "completion_tokens", true),
  total_cost: column("number", NUMBER, "total_cost", true),
  prompt_cost: column("number", NUMBER, "prompt_cost", true),
  completion_cost: column("number", NUMBER, "completion_cost", true),
  trace_tier: column("name", TEXT, "trace_tier", true),
  tags: field("text", ["has", "in", "like", "search", "exists"], { kind: "tag" }),
  metadata: field("text", OBJECT, { kind: "object", of: "m" }),
  metadata_key: pair("key", KEY, "m", "key"),
  metadata_value: pair("indexed", VALUE, "m", "value"),
  inputs: field("text", OBJECT, { kind: "object", of: "i" }),
  input_key: pair("key", KEY, "i", "key"),
  input_value: pair("indexed", VALUE, "i", "value"),
  outputs: field("text", OBJECT, { kind: "object", of: "o" }),
  output_key: pair("key", KEY, "o", "key"),
  output_value: pair("indexed", VALUE, "o", "value"),
  feedback_key: pair("text", KEY, "feedback", "key"),
  feedback_score: { ...pair("score", NUMBER, "feedback", "score"), nullable: true },
  feedback_value: { ...pair("scalar", TEXT, "feedback", "value"), nullable: true },
  feedback_source: { ...pair("text", TEXT, "feedback", "source"), nullable: true },
  cursor: field("cursor", ORDER, { kind: "cursor" }),
} satisfies Record<string, Field>;

export const FIELD_NAMES = Object.keys(FIELDS);

export function findField(name: string): Field | undefined {
  return Object.hasOwn(FIELDS, name) ? FIELDS[name as keyof typeof FIELDS] : undefined;
}

function field(
  type: FieldType,
  functions: readonly FunctionName[],
  source: Source,
  nullable = false,
): Field {
  return { type, functions, nullable, source };
}

function column(
  type: FieldType,
  functions: readonly FunctionName[],
  name: FilterColumn,
  nullable = false,
): Field {
  return field(type, functions, { kind: "column", name }, nullable);
}

function pair(
  type: FieldType,
  functions: readonly FunctionName[],
  of: PairKind,
  part: PairPart,
): Field {
  return field(type, functions, { kind: "pair", of, part });
}
