import { v5 } from "uuid";
import type { ActiveRevision } from "../../control-plane/deployments/api/service.ts";
import type { WireConfig } from "../../isolate/contract.ts";

/** An assistant as far as its runs need it. */
export type RunAssistant = {
  assistant_id: string;
  graph_id: string;
  config: WireConfig;
  context: unknown;
  metadata: Record<string, unknown>;
};

export type AssistantDefaults = { config: WireConfig; context: unknown };

// The namespace that published servers derive the id of a graph's own assistant with.
const ASSISTANT_NAMESPACE = "6ba7b821-9dad-11d1-80b4-00c04fd430c8";

export const SYSTEM_METADATA = { created_by: "system" };

const ids = new Map<string, string>();

export function systemAssistantId(graph_id: string): string {
  const known = ids.get(graph_id);
  if (known !== undefined) return known;
  const id = v5(graph_id, ASSISTANT_NAMESPACE);
  ids.set(graph_id, id);
  return id;
}

/** The assistant that each graph has from the start. */
export function systemAssistant(graph_id: string, defaults?: AssistantDefaults): RunAssistant {
  return {
    assistant_id: systemAssistantId(graph_id),
    graph_id,
    config: defaults?.config ?? {},
    context: defaults?.context ?? {},
    metadata: SYSTEM_METADATA,
  };
}

/** The id of an assistant that was named by its id or by its graph. */
export function toAssistantId(graphs: string[], ref: string): string {
  return graphs.includes(ref) ? systemAssistantId(ref) : ref.toLowerCase();
}

/** What `LANGGRAPH_CONFIG` of the configuration's `env` says of a graph's own assistant. */
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

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}
