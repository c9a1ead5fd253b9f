import { graphs as exported, types } from "heddle:graphs";

/** What `heddle:graphs` holds: one entry per graph of langgraph.json, made by the builder. */
export type ExportedGraph = {
  module: Record<string, unknown>;
  export_name: string;
  description: string | null;
  /** JSON Schema of its context as the source says it, where LangGraph keeps nothing of it. */
  context?: Record<string, unknown> | null;
};

/** What the source says of fields of a state whose types are gone at run time, by name. */
export const fieldTypes = types;

export function contextOf(graph_id: string): unknown {
  return exported[graph_id]?.context ?? null;
}

export function graphIds(): string[] {
  return Object.keys(exported);
}

export function exportedGraph(graph_id: string): { value: unknown; description: string | null } {
  const entry = exported[graph_id];
  if (!entry) {
    throw new Error(`This revision has no graph "${graph_id}"; it has ${graphIds().join(", ")}.`);
  }
  const value = entry.module[entry.export_name];
  if (value === undefined || value === null) {
    const known = Object.keys(entry.module).join(", ") || "none";
    throw new Error(
      `Graph "${graph_id}": the module has no export "${entry.export_name}" (it exports: ${known}).`,
    );
  }
  return { value, description: entry.description };
}
