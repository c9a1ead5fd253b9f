import { z } from "@hono/zod-openapi";
import { list, optional, QueryBoolean, Timestamp, Uuid } from "../shared/schema.ts";
import { AgentPath, isBounded, Loose, Metadata, RunConfig, TOO_LARGE } from "./schema.ts";

const Name = z.string().min(1).max(255);
const Description = z.string().max(10_000);
const Context = z.unknown().refine(isContextBounded, TOO_LARGE);

function isContextBounded(value: unknown): boolean {
  return value === undefined || isBounded(value);
}

export const AssistantVersion = z
  .object({
    assistant_id: Uuid,
    graph_id: z.string(),
    version: z.number().int().min(1),
    name: z.string(),
    description: z.string().nullable(),
    config: Loose,
    context: z.unknown(),
    metadata: Loose,
    created_at: Timestamp,
  })
  .openapi("AssistantVersion");
export type AssistantVersion = z.infer<typeof AssistantVersion>;

export const Assistant = AssistantVersion.extend({ updated_at: Timestamp }).openapi("Assistant");
export type Assistant = z.infer<typeof Assistant>;

export const AssistantCreate = z
  .object({
    graph_id: z.string().min(1),
    assistant_id: optional(Uuid),
    name: optional(Name),
    description: optional(Description),
    config: optional(RunConfig),
    context: Context.optional(),
    metadata: optional(Metadata),
    if_exists: optional(z.enum(["raise", "do_nothing"])),
  })
  .openapi("AssistantCreate");
export type AssistantCreate = z.infer<typeof AssistantCreate>;

export const AssistantPatch = z
  .object({
    graph_id: optional(z.string().min(1)),
    name: optional(Name),
    description: optional(Description),
    config: optional(RunConfig),
    context: Context.optional(),
    metadata: optional(Metadata),
  })
  .openapi("AssistantPatch");
export type AssistantPatch = z.infer<typeof AssistantPatch>;

const AssistantFilter = z.object({
  graph_id: optional(z.string()),
  /** A part of it, in either case. */
  name: optional(z.string()),
  metadata: optional(Metadata),
});

const ASSISTANT_FIELDS = Object.keys(Assistant.shape) as [keyof Assistant, ...(keyof Assistant)[]];
const SORTED_BY = ["assistant_id", "graph_id", "name", "created_at", "updated_at"] as const;

export const AssistantSearch = AssistantFilter.extend({
  limit: z.number().int().min(1).max(1000).default(10),
  offset: z.number().int().min(0).default(0),
  sort_by: optional(z.enum(SORTED_BY)),
  sort_order: optional(z.enum(["asc", "desc"])),
  select: optional(list(z.enum(ASSISTANT_FIELDS))),
}).openapi("AssistantSearch");
export type AssistantSearch = z.infer<typeof AssistantSearch>;

export const AssistantCount = AssistantFilter.openapi("AssistantCount");
export type AssistantCount = z.infer<typeof AssistantCount>;

export const AssistantVersionsQuery = z
  .object({
    metadata: optional(Metadata),
    limit: z.number().int().min(1).max(1000).default(10),
    offset: z.number().int().min(0).default(0),
  })
  .openapi("AssistantVersionsQuery");
export type AssistantVersionsQuery = z.infer<typeof AssistantVersionsQuery>;

export const AssistantLatest = z
  .object({ version: z.number().int().min(1) })
  .openapi("AssistantLatest");

export const AssistantPath = AgentPath.extend({ assistant_id: z.string().min(1) });
export const SubgraphsPath = AssistantPath.extend({ namespace: z.string().min(1) });
export const AssistantDeleteQuery = z.object({ delete_threads: QueryBoolean.default(false) });
export const SubgraphsQuery = z.object({ recurse: QueryBoolean.default(false) });

/** `true`, `false`, or how many levels deep. */
export const GraphQuery = z.object({
  xray: z
    .union([QueryBoolean, z.coerce.number().int().min(0).max(100)])
    .default(false)
    .openapi({ anyOf: [{ type: "boolean" }, { type: "integer" }] }),
});

export const AssistantGraph = z
  .object({
    nodes: z.array(z.looseObject({ id: z.union([z.string(), z.number()]) })),
    edges: z.array(
      z.looseObject({
        source: z.union([z.string(), z.number()]),
        target: z.union([z.string(), z.number()]),
      }),
    ),
  })
  .openapi("AssistantGraph");

const JsonSchema = Loose.nullable();
export const GraphSchemas = z
  .object({
    graph_id: z.string(),
    input_schema: JsonSchema,
    output_schema: JsonSchema,
    state_schema: JsonSchema,
    config_schema: JsonSchema,
    context_schema: JsonSchema,
  })
  .openapi("GraphSchemas");

/** The same by two names: clients' types have the longer ones, LangGraph's own server gives the shorter. */
export const SubgraphSchemas = GraphSchemas.extend({
  input: JsonSchema,
  output: JsonSchema,
  state: JsonSchema,
  config: JsonSchema,
}).openapi("SubgraphSchemas");
