import type { Assistant } from "../threads/api/assistants/assistant-schema.ts";
import { systemAssistantId } from "../threads/contract/assistant-ids.ts";

export type Tool = { name: string; title: string; description?: string; assistant_id: string };

/** Hosts accept 128 characters, with the suffix of duplicate names. */
const MAX_NAME = 119;

/**
 * Converts assistants to tools, oldest first. The oldest of several with the same name keeps it, the others
 * have a suffix, so that tools keep their names.
 */
export function toTools(assistants: Assistant[]): Tool[] {
  const taken = new Set<string>();
  return assistants.map(({ assistant_id, graph_id, name, description }) => {
    const short = toToolName(name);
    const unique = taken.has(short) ? `${short}-${assistant_id.slice(-8)}` : short;
    taken.add(short);
    const text = description || graphDescription(assistants, graph_id);
    return { name: unique, title: name, assistant_id, ...(text && { description: text }) };
  });
}

function toToolName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_.-]/g, "_").slice(0, MAX_NAME);
}

/** Returns the description of the system assistant, from `graphs.{id}.description`. */
function graphDescription(assistants: Assistant[], graph_id: string): string | null {
  const own = systemAssistantId(graph_id);
  return assistants.find(({ assistant_id }) => assistant_id === own)?.description ?? null;
}

/** MCP requires an object schema. */
export function toInputSchema(schema: Record<string, unknown> | null): Record<string, unknown> {
  return schema?.type === "object" ? schema : { type: "object" };
}
