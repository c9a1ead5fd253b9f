import { messagesStateReducer } from "@langchain/langgraph";
import type { GraphSchemas } from "../contract.ts";
import { fieldTypes } from "../modules/graphs.ts";
import type { Graph } from "./langgraph.ts";
import { zodSchemas } from "./library.ts";

type JsonSchema = Record<string, unknown>;
type Channel = { operator?: unknown; initialValueFactory?: () => unknown };
type Definition = Record<string, Channel | (() => Channel)>;
type Builder = {
  _schemaDefinition?: Definition;
  _inputDefinition?: Definition;
  _outputDefinition?: Definition;
};

/**
 * Returns the JSON Schemas of a graph, from its zod schemas or its StateSchema. The types of an Annotation do not exist
 * at run time: each field gets the type of messages when it has their reducer, else the type in the source, else that
 * of its default.
 */
export function describeSchemas(graph: Graph, context: unknown = null): GraphSchemas {
  const { _schemaDefinition, _inputDefinition, _outputDefinition } = builderOf(graph);
  const config = read(zodSchemas.getConfigTypeSchema, graph) ?? context;
  return {
    input: read(zodSchemas.getInputTypeSchema, graph) ?? fieldsOf(_inputDefinition),
    output: read(zodSchemas.getOutputTypeSchema, graph) ?? fieldsOf(_outputDefinition),
    state: read(zodSchemas.getStateTypeSchema, graph) ?? fieldsOf(_schemaDefinition),
    config,
    context: config,
  };
}

function read(schemaOf: ((graph: Graph) => unknown) | undefined, graph: Graph): unknown {
  try {
    return JSON.parse(JSON.stringify(schemaOf?.(graph) ?? null));
  } catch {
    // JSON Schema cannot express all schemas, for example transforms and custom types.
    return null;
  }
}

function builderOf(graph: Graph): Builder {
  return "builder" in graph ? (graph.builder as Builder) : {};
}

function fieldsOf(definition: Definition | undefined): JsonSchema | null {
  if (!definition) return null;
  const fields = Object.entries(definition).map(([name, channel]) => [
    name,
    toSchema(name, channel),
  ]);
  return { type: "object", properties: Object.fromEntries(fields) };
}

function toSchema(name: string, field: Channel | (() => Channel)): JsonSchema {
  try {
    const channel = typeof field === "function" ? field() : field;
    if (channel.operator === messagesStateReducer) return MESSAGES;
    const written = Object.hasOwn(fieldTypes, name) ? fieldTypes[name] : undefined;
    if (written) return written;
    return typeOf(channel.initialValueFactory?.());
  } catch {
    return {};
  }
}

function typeOf(value: unknown): JsonSchema {
  if (Array.isArray(value)) return { type: "array" };
  if (typeof value === "object" && value !== null) return { type: "object" };
  return ["string", "number", "boolean"].includes(typeof value) ? { type: typeof value } : {};
}

const MESSAGES: JsonSchema = {
  type: "array",
  langgraph_type: "messages",
  items: {
    type: "object",
    properties: {
      type: { type: "string" },
      id: { type: "string" },
      name: { type: "string" },
      content: {
        anyOf: [{ type: "string" }, { type: "array", items: { type: "object" } }],
      },
      tool_calls: { type: "array", items: { type: "object" } },
      tool_call_id: { type: "string" },
      additional_kwargs: { type: "object" },
      response_metadata: { type: "object" },
    },
    required: ["content"],
  },
};
