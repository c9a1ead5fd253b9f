import type { RUN_TYPES } from "../../ingest/ingest-schema.ts";

export type RunType = (typeof RUN_TYPES)[number];

/**
 * Field of a run: a column, its project, a payload, or a key below a payload, `metadata`, `invocation_params` or `usage`.
 * The text of an attribute in `fields` is parsed when it is a JSON object or list, except for `name`, `project`,
 * `project_id`, `tags` and the keys below `metadata`.
 */
export type RunField =
  | "name"
  | "project"
  | "project_id"
  | "tags"
  | "inputs"
  | "outputs"
  | "inputs.system_instructions"
  | "outputs.text"
  | "outputs.tool_calls"
  | "usage"
  | "metadata"
  | "invocation_params"
  | RunListField
  | `metadata.${string}`
  | `invocation_params.${string}`
  | `usage.${string}`;

export type RunListField =
  | "inputs.messages"
  | "outputs.messages"
  | "outputs.documents"
  | "invocation_params.tools";

/**
 * Published names of attributes, as data. When several attributes of `fields` give one field, the one of the first
 * convention wins. An attribute of `prefixes` wins over those of `fields`, and these win over those of `lists`.
 */
export type Convention = {
  /** Fields by attribute. */
  fields: Record<string, RunField>;
  /** Run types by attribute and value in lower case, with `*` for every other value. */
  run_types: Record<string, Record<string, RunType>>;
  /** Fields by the start of attributes, whose rest becomes a key. */
  prefixes: Record<string, "metadata" | "invocation_params">;
  /** Lists by the start of numbered attributes, `llm.input_messages.0.message.role`. */
  lists: Record<string, RunListField>;
};
