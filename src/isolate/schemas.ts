import {
  getConfigTypeSchema,
  getInputTypeSchema,
  getOutputTypeSchema,
  getStateTypeSchema,
} from "@langchain/langgraph/zod/schema";
import type { GraphDescription } from "./contract.ts";
import type { Graph } from "./langgraph.ts";

/** JSON Schemas of graphs whose state is zod or a StateSchema; null for an Annotation, which has no types at run time. */
export function describeSchemas(graph: Graph): GraphDescription["schemas"] {
  const config = read(getConfigTypeSchema, graph);
  return {
    input: read(getInputTypeSchema, graph),
    output: read(getOutputTypeSchema, graph),
    state: read(getStateTypeSchema, graph),
    config,
    context: config,
  };
}

function read(schemaOf: (graph: Graph) => unknown, graph: Graph): unknown {
  try {
    return JSON.parse(JSON.stringify(schemaOf(graph) ?? null));
  } catch {
    // A schema that JSON Schema cannot express (a transform, a custom type) is no reason to refuse the graph.
    return null;
  }
}
