// The filter language, for completion. The service validates filters: a test compares the fields and functions of both.
const EQUAL = ["eq", "neq"];
const ORDER = ["gt", "gte", "lt", "lte"];
const TEXT = [...EQUAL, "in", "like", "search"];
const NUMBER = [...EQUAL, ...ORDER, "in"];
const KEY = [...TEXT, "exists"];
const VALUE = [...EQUAL, ...ORDER, "in", "like", "search"];
const OBJECT = ["has", "exists", "search"];

type FieldHelp = { functions: string[]; hint: string; values?: string[] };

export const FIELDS: Record<string, FieldHelp> = {
  name: { functions: TEXT, hint: "name of the run" },
  status: { functions: TEXT, hint: "how it ended", values: ['"error"', '"success"', '"pending"'] },
  latency: { functions: NUMBER, hint: 'seconds, or "100ms", "5s"', values: ['"1s"', '"20s"'] },
  error: { functions: [...EQUAL, "like", "search"], hint: "text of the error", values: ["null"] },
  run_type: {
    functions: TEXT,
    hint: "kind of the run",
    values: ['"llm"', '"tool"', '"chain"', '"retriever"', '"prompt"', '"embedding"', '"parser"'],
  },
  tags: { functions: ["has", "in", "like", "search", "exists"], hint: "a tag of the run" },
  metadata: { functions: OBJECT, hint: "an object in quotes", values: [`'{"key": "value"}'`] },
  metadata_key: { functions: KEY, hint: "a key of the metadata" },
  metadata_value: { functions: VALUE, hint: "a value of the metadata" },
  is_root: { functions: EQUAL, hint: "whether it has no parent", values: ["true", "false"] },
  start_time: { functions: NUMBER, hint: "an ISO time in quotes" },
  end_time: { functions: NUMBER, hint: "an ISO time in quotes" },
  first_token_time: { functions: NUMBER, hint: "an ISO time in quotes" },
  total_tokens: { functions: NUMBER, hint: "number of tokens" },
  prompt_tokens: { functions: NUMBER, hint: "number of tokens" },
  completion_tokens: { functions: NUMBER, hint: "number of tokens" },
  total_cost: { functions: NUMBER, hint: "US dollars" },
  prompt_cost: { functions: NUMBER, hint: "US dollars" },
  completion_cost: { functions: NUMBER, hint: "US dollars" },
  feedback_key: { functions: KEY, hint: "name of a score" },
  feedback_score: { functions: NUMBER, hint: "a score", values: ["0", "1"] },
  feedback_value: { functions: TEXT, hint: "a value of feedback" },
  feedback_source: { functions: TEXT, hint: "who gave it", values: ['"api"', '"app"', '"model"'] },
  inputs: { functions: OBJECT, hint: "words of the inputs" },
  input_key: { functions: KEY, hint: "a key of the inputs" },
  input_value: { functions: VALUE, hint: "a value of the inputs" },
  outputs: { functions: OBJECT, hint: "words of the outputs" },
  output_key: { functions: KEY, hint: "a key of the outputs" },
  output_value: { functions: VALUE, hint: "a value of the outputs" },
  thread_id: { functions: TEXT, hint: "id of the thread" },
  id: { functions: TEXT, hint: "id of the run" },
  trace_id: { functions: TEXT, hint: "id of the trace" },
  parent_run_id: { functions: TEXT, hint: "id of the parent", values: ["null"] },
  session_id: { functions: [...EQUAL, "in"], hint: "id of the project" },
  reference_example_id: { functions: TEXT, hint: "id of an example" },
  execution_order: { functions: NUMBER, hint: "position among its siblings" },
  trace_tier: { functions: TEXT, hint: "retention", values: ['"longlived"', '"shortlived"'] },
  cursor: { functions: ORDER, hint: "a cursor of the API" },
};

export const FUNCTIONS: Record<string, string> = {
  eq: "equals",
  neq: "differs",
  gt: "greater",
  gte: "greater or equal",
  lt: "less",
  lte: "less or equal",
  in: "one of a list",
  has: "has a tag, or an object",
  search: "has words",
  like: "pattern with %",
  exists: "has a key",
  and: "all of",
  or: "any of",
  not: "none of",
};

export type TypedToken = { text: string; at: number };

const TOKEN = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[A-Za-z_][\w.]*|[()[\],]|[^\s()[\],"']+/g;

/** Divides a filter, which may be unfinished, into words, texts in quotes and punctuation. */
export function tokensOf(text: string): TypedToken[] {
  return [...text.matchAll(TOKEN)].map(({ 0: found, index }) => ({ text: found, at: index }));
}
