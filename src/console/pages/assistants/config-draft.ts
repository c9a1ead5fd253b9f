import type { z } from "zod";
import type {
  Assistant,
  GraphSchemas,
} from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import { type InputField, inputFields, readInput } from "../../runs/input/input-schema.ts";
import { type Fields, isFields, parseFields, toJson } from "../../ui/conversation/fields.ts";

export type Schemas = z.infer<typeof GraphSchemas>;

/** Texts of the form: one for each field of a schema, and JSON for all other keys. */
export type ConfigDraft = {
  config: string;
  configurable: Record<string, string>;
  context: string;
  contextFields: Record<string, string>;
};

export const configFields = ({ config_schema }: Schemas) => inputFields(config_schema);
export const contextFields = ({ context_schema }: Schemas) => inputFields(context_schema);

export function draftOf(assistant: Assistant | undefined, schemas: Schemas): ConfigDraft {
  const config: Fields = assistant?.config ?? {};
  const { configurable } = config;
  const untyped = untypedOf(configFields(schemas), configurable);
  return {
    config: toJson({ ...config, configurable: untyped }, 2),
    configurable: textsOf(configFields(schemas), configurable),
    context: toJson(untypedOf(contextFields(schemas), assistant?.context) ?? {}, 2),
    contextFields: textsOf(contextFields(schemas), assistant?.context),
  };
}

/** Whether the field can show its value. The JSON shows other values, such as a number where the schema has a text. */
function isTyped({ name, kind, isRequired }: InputField, values: Fields): boolean {
  const value = values[name];
  if (isRequired || kind === "json" || value === undefined) return true;
  return typeof value === (kind === "text" || kind === "choice" ? "string" : kind);
}

/** @returns the values without those of typed fields, `undefined` when none remain */
function untypedOf(fields: InputField[], values: unknown): unknown {
  if (!isFields(values)) return values;
  const typed = new Set(fields.filter((field) => isTyped(field, values)).map(({ name }) => name));
  const others = Object.entries(values).filter(([name]) => !typed.has(name));
  return others.length > 0 ? Object.fromEntries(others) : undefined;
}

/** Returns the values of an assistant as texts. A field without a value has no text, so that it shows its default. */
function textsOf(fields: InputField[], values: unknown): Record<string, string> {
  if (!isFields(values)) return {};
  const known = fields.filter(({ name }) => values[name] !== undefined);
  return Object.fromEntries(
    known.map((field) => {
      const { name, kind } = field;
      if (!isTyped(field, values)) return [name, ""];
      const value = values[name];
      return [name, typeof value === "string" && kind !== "json" ? value : toJson(value, 2)];
    }),
  );
}

/**
 * Reads the edited and the required fields. Other fields keep their stored value. Without one they stay absent, so that
 * the graph uses its default.
 */
function readEdited(fields: InputField[], texts: Record<string, string>, stored: unknown) {
  const values = isFields(stored) ? stored : {};
  const before = textsOf(fields, stored);
  const { input, problems } = readInput(fields, texts);
  for (const field of fields) {
    const { name, isRequired } = field;
    if (isRequired || texts[name] !== before[name]) continue;
    delete input[name];
    delete problems[name];
    if (values[name] !== undefined && isTyped(field, values)) input[name] = values[name];
  }
  return { input, problems };
}

/** @returns the fields of the request, and the problems by the name of the field */
export function readDraft(draft: ConfigDraft, schemas: Schemas, assistant: Assistant | undefined) {
  const problems: Record<string, string> = {};
  const readJson = (name: "config" | "context") => {
    const parsed = parseFields(draft[name]);
    if ("value" in parsed) return parsed.value;
    problems[name] = parsed.problem;
    return {};
  };
  const config = readJson("config");
  const stored: Fields = assistant?.config ?? {};
  const typed = readEdited(configFields(schemas), draft.configurable, stored.configurable);
  const typedContext = readEdited(contextFields(schemas), draft.contextFields, assistant?.context);
  const { configurable: others = {} } = config;
  if (!isFields(others)) problems.config = "configurable is not an object: put the value in { }.";
  const configurable = { ...(isFields(others) && others), ...typed.input };
  const values = {
    config: configFields(schemas).length > 0 ? { ...config, configurable } : config,
    context: { ...readJson("context"), ...typedContext.input },
  };
  return { values, problems: { ...problems, ...typed.problems, ...typedContext.problems } };
}

export type Naming = { name: string; description: string };

/** @returns name and description of the request. A PATCH without a description keeps the stored one. */
export function readNaming({ name, description }: Naming, assistant: Assistant | undefined) {
  return { name, ...((assistant || description) && { description }) };
}
