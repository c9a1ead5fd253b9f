import { graphs as exported, types } from "heddle:graphs";
import { type AgentModule, loadModule } from "./agent-module.ts";

/** A graph of langgraph.json in the module `heddle:graphs`, which the builder writes. */
export type ExportedGraph = AgentModule & {
  description: string | null;
  /** JSON Schema of the context, read from the source where LangGraph keeps none. */
  context?: Record<string, unknown> | null;
};

/** JSON Schemas of state fields by the name of the field, read from the source. */
export const fieldTypes = types;

export function contextOf(graph_id: string): unknown {
  return exported[graph_id]?.context ?? null;
}

export function graphIds(): string[] {
  return Object.keys(exported);
}

/** @throws LoadError */
export async function exportedGraph(
  graph_id: string,
): Promise<{ value: unknown; description: string | null }> {
  const entry = exported[graph_id];
  if (!entry) {
    throw new Error(`This revision has no graph "${graph_id}"; it has ${graphIds().join(", ")}.`);
  }
  const module = await loadModule(entry);
  const value = module[entry.export_name];
  if (value === undefined || value === null) {
    const known = Object.keys(module).join(", ") || "none";
    throw new Error(
      `Graph "${graph_id}": the module has no export "${entry.export_name}" (it exports: ${known}).`,
    );
  }
  return { value, description: entry.description };
}
