import { v5 } from "uuid";
import type { ActiveRevision } from "../../../control-plane/deployments/api/service.ts";
import type { WireConfig } from "../../../isolate/contract.ts";

/** Fields of an assistant that runs use. */
export type RunAssistant = {
  assistant_id: string;
  graph_id: string;
  config: WireConfig;
  context: unknown;
  metadata: Record<string, unknown>;
};

export type AssistantDefaults = { config: WireConfig; context: unknown };

// UUID namespace from which LangGraph's own server derives the id of a graph's assistant.
const ASSISTANT_NAMESPACE = "6ba7b821-9dad-11d1-80b4-00c04fd430c8";

export const SYSTEM_METADATA = { created_by: "system" };

const ids = new Map<string, string>();

export function systemAssistantId(graph_id: string): string {
  const cached = ids.get(graph_id);
  if (cached !== undefined) return cached;
  const id = v5(graph_id, ASSISTANT_NAMESPACE);
  ids.set(graph_id, id);
  return id;
}

export function systemAssistant(graph_id: string, defaults?: AssistantDefaults): RunAssistant {
  return {
    assistant_id: systemAssistantId(graph_id),
    graph_id,
    config: defaults?.config ?? {},
    context: defaults?.context ?? {},
    metadata: SYSTEM_METADATA,
  };
}

/** Returns the id of an assistant. `ref`: its id, in upper or lower case, or the name of its graph. */
export function toAssistantId(graphs: string[], ref: string): string {
  return graphs.includes(ref) ? systemAssistantId(ref) : ref.toLowerCase();
}

/** Reads `LANGGRAPH_CONFIG`, in `env` of langgraph.json, for the assistant of a graph. */
export function defaultsOf(
  { config_env }: Pick<ActiveRevision, "config_env">,
  graph_id: string,
): AssistantDefaults {
  const { context, ...config } = parse(config_env?.LANGGRAPH_CONFIG)[graph_id] ?? {};
  return { config, context: context ?? {} };
}

function parse(text: string | undefined): Record<string, { context?: unknown } & WireConfig> {
  try {
    return (JSON.parse(text ?? "{}") ?? {}) as ReturnType<typeof parse>;
  } catch {
    return {};
  }
}

/** Whether the text is a UUID in lower case. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}
