import { z } from "@hono/zod-openapi";
import {
  AnyObject,
  CreatedAt,
  list,
  namedObject,
  optional,
  pageOfBody,
  QueryBoolean,
  textField,
  UpdatedAt,
  Uuid,
} from "../../../../shared/schema.ts";
import {
  AgentPath,
  isSmallJson,
  Metadata,
  RunConfig,
  TOO_LARGE_JSON,
} from "../../contract/requests/schema.ts";

const Name = z.string().min(1).max(255);
const Description = z.string().max(10_000);
const Context = z.unknown().refine(isSmallContext, TOO_LARGE_JSON);

function isSmallContext(value: unknown): boolean {
  return value === undefined || isSmallJson(value);
}

export const AssistantVersion = namedObject("AssistantVersion", {
  assistant_id: Uuid.describe("Id of the assistant"),
  graph_id: textField("Name of the graph in `langgraph.json`", "agent"),
  version: z.number().int().min(1).describe("Version number"),
  name: textField("Name of the assistant", "Support"),
  description: z.string().nullable().describe("Description of the assistant"),
  config: AnyObject.describe("Configuration that runs start with"),
  context: z.unknown().describe("Context that runs start with"),
  metadata: AnyObject.openapi({ description: "Metadata", example: { team: "support" } }),
  created_at: CreatedAt,
});
export type AssistantVersion = z.infer<typeof AssistantVersion>;

export const Assistant = AssistantVersion.extend({ updated_at: UpdatedAt }).openapi("Assistant");
export type Assistant = z.infer<typeof Assistant>;

export const AssistantCreate = namedObject("AssistantCreate", {
  graph_id: z
    .string()
    .min(1)
    .openapi({ description: "Name of the graph in `langgraph.json`", example: "agent" }),
  assistant_id: optional(Uuid).describe("Id of the assistant"),
  name: optional(Name).openapi({ description: "Name of the assistant", example: "Support" }),
  description: optional(Description).describe("Description of the assistant"),
  config: optional(RunConfig).describe("Configuration that runs start with"),
  context: Context.optional().describe("Context that runs start with"),
  metadata: optional(Metadata).openapi({ description: "Metadata", example: { team: "support" } }),
  if_exists: optional(z.enum(["raise", "do_nothing"])).describe(
    "What to do when the assistant exists",
  ),
});
export type AssistantCreate = z.infer<typeof AssistantCreate>;

export const AssistantPatch = namedObject("AssistantPatch", {
  graph_id: optional(z.string().min(1)).openapi({
    description: "Name of the graph in `langgraph.json`",
    example: "agent",
  }),
  name: optional(Name).openapi({ description: "Name of the assistant", example: "Support" }),
  description: optional(Description).describe("Description of the assistant"),
  config: optional(RunConfig).describe("Configuration that runs start with"),
  context: Context.optional().describe("Context that runs start with"),
  metadata: optional(Metadata).openapi({ description: "Metadata", example: { team: "support" } }),
});
export type AssistantPatch = z.infer<typeof AssistantPatch>;

const AssistantFilter = z.object({
  graph_id: optional(z.string()).describe("Name of the graph in `langgraph.json`"),
  name: optional(z.string()).describe("Part of the name, in upper or lower case"),
  metadata: optional(Metadata).describe("Metadata that assistants contain"),
});

const ASSISTANT_FIELDS = Object.keys(Assistant.shape) as [keyof Assistant, ...(keyof Assistant)[]];
const SORTED_BY = ["assistant_id", "graph_id", "name", "created_at", "updated_at"] as const;

export const AssistantSearch = AssistantFilter.extend({
  ...pageOfBody("assistants", { max: 1000, standard: 10 }),
  sort_by: optional(z.enum(SORTED_BY)).describe("Field to sort by"),
  sort_order: optional(z.enum(["asc", "desc"])).describe("Order of the sort field"),
  select: optional(list(z.enum(ASSISTANT_FIELDS))).describe("Fields to return. Default: all"),
}).openapi("AssistantSearch");
export type AssistantSearch = z.infer<typeof AssistantSearch>;

export const AssistantCount = AssistantFilter.openapi("AssistantCount");
export type AssistantCount = z.infer<typeof AssistantCount>;

export const AssistantVersionsQuery = namedObject("AssistantVersionsQuery", {
  metadata: optional(Metadata).describe("Metadata that versions contain"),
  ...pageOfBody("versions", { max: 1000, standard: 10 }),
});
export type AssistantVersionsQuery = z.infer<typeof AssistantVersionsQuery>;

export const AssistantLatest = namedObject("AssistantLatest", {
  version: z.number().int().min(1).describe("Version that runs use from now on"),
});

export const AssistantPath = AgentPath.extend({
  assistant_id: z.string().min(1).describe("Id of the assistant, or the name of its graph"),
});
export const SubgraphsPath = AssistantPath.extend({
  namespace: z.string().min(1).describe("Namespace of the subgraph"),
});
export const AssistantDeleteQuery = z.object({
  delete_threads: QueryBoolean.default(false).describe(
    "Whether to delete the threads of the assistant too",
  ),
});
export const SubgraphsQuery = z.object({
  recurse: QueryBoolean.default(false).describe("Whether to include subgraphs of subgraphs"),
});

/** `xray`: `true`, `false`, or a number of levels. */
export const GraphQuery = z.object({
  xray: z
    .union([QueryBoolean, z.coerce.number().int().min(0).max(100)])
    .default(false)
    .openapi({ anyOf: [{ type: "boolean" }, { type: "integer" }] })
    .describe("Whether to draw subgraphs, or how many levels of them"),
});

export const AssistantGraph = namedObject("AssistantGraph", {
  nodes: z
    .array(
      z.looseObject({
        id: z
          .union([z.string(), z.number()])
          .openapi({ description: "Id of the node", example: "agent" }),
      }),
    )
    .describe("Nodes of the graph"),
  edges: z
    .array(
      z.looseObject({
        source: z
          .union([z.string(), z.number()])
          .openapi({ description: "Id of the node where the edge begins", example: "__start__" }),
        target: z
          .union([z.string(), z.number()])
          .openapi({ description: "Id of the node where the edge ends", example: "agent" }),
      }),
    )
    .describe("Edges of the graph"),
});

const JsonSchema = AnyObject.nullable();
export const GraphSchemas = namedObject("GraphSchemas", {
  graph_id: textField("Name of the graph in `langgraph.json`", "agent"),
  input_schema: JsonSchema.describe("JSON Schema of the input, `null` when unknown"),
  output_schema: JsonSchema.describe("JSON Schema of the output, `null` when unknown"),
  state_schema: JsonSchema.describe("JSON Schema of the state, `null` when unknown"),
  config_schema: JsonSchema.describe("JSON Schema of `config.configurable`, `null` when unknown"),
  context_schema: JsonSchema.describe("JSON Schema of the context, `null` when unknown"),
});

/**
 * Has each schema under two names: types of clients have the longer name, LangGraph's own server returns the shorter.
 */
export const SubgraphSchemas = GraphSchemas.extend({
  input: JsonSchema.describe("The same as `input_schema`"),
  output: JsonSchema.describe("The same as `output_schema`"),
  state: JsonSchema.describe("The same as `state_schema`"),
  config: JsonSchema.describe("The same as `config_schema`"),
}).openapi("SubgraphSchemas");
