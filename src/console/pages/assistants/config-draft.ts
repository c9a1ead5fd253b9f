import type { z } from "zod";
import type {
  Assistant,
  GraphSchemas,
} from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import { type InputField, inputFields, readInput } from "../../runs/input/input-schema.ts";
import { type Fields, isFields, parseFields, toJson } from "../../ui/conversation/fields.ts";

export type Schemas = z.infer<typeof GraphSchemas>;

/** Texts of the form: one for each field of a schema, and JSON where the schema is unknown. */
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
  const { configurable, ...others } = config;
  const isTyped = configFields(schemas).length > 0;
  return {
    config: toJson(isTyped ? others : config, 2),
    configurable: textsOf(configFields(schemas), configurable),
    context: toJson(assistant?.context ?? {}, 2),
    contextFields: textsOf(contextFields(schemas), assistant?.context),
  };
}

/** Values of an assistant as they would be typed. A field without a value stays at its default. */
function textsOf(fields: InputField[], values: unknown): Record<string, string> {
  if (!isFields(values)) return {};
  const known = fields.filter(({ name }) => values[name] !== undefined);
  return Object.fromEntries(
    known.map(({ name, kind }) => {
      const value = values[name];
      return [name, typeof value === "string" && kind !== "json" ? value : toJson(value, 2)];
    }),
  );
}

/** @returns what the request holds, and what is wrong by the name of the field */
export function readDraft(draft: ConfigDraft, schemas: Schemas) {
  const problems: Record<string, string> = {};
  const readJson = (name: "config" | "context") => {
    const parsed = parseFields(draft[name]);
    if ("value" in parsed) return parsed.value;
    problems[name] = parsed.problem;
    return {};
  };
  const config = readJson("config");
  const typed = readInput(configFields(schemas), draft.configurable);
  const typedContext = readInput(contextFields(schemas), draft.contextFields);
  const hasContext = contextFields(schemas).length > 0;
  const values = {
    config: configFields(schemas).length > 0 ? { ...config, configurable: typed.input } : config,
    context: hasContext ? typedContext.input : readJson("context"),
  };
  return { values, problems: { ...problems, ...typed.problems, ...typedContext.problems } };
}
