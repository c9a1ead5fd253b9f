import type { Assistant } from "../threads/assistants/assistant-schema.ts";
import { systemAssistantId } from "../threads/assistants.ts";

export type Tool = { name: string; title: string; description?: string; assistant_id: string };

/** Hosts take letters, digits, and these; with what sets two of one name apart, 128 of them. */
const MAX_NAME = 119;

/**
 * Each assistant as a tool, the oldest first. Of several with one name the oldest has it, the others
 * have the beginning of their ids behind it: what was a tool once keeps its name.
 */
export function toTools(assistants: Assistant[]): Tool[] {
  const taken = new Set<string>();
  return assistants.map(({ assistant_id, graph_id, name, description }) => {
    const short = toToolName(name);
    const unique = taken.has(short) ? `${short}-${assistant_id.slice(-8)}` : short;
    taken.add(short);
    const said = description ?? graphDescription(assistants, graph_id);
    return { name: unique, title: name, assistant_id, ...(said !== null && { description: said }) };
  });
}

function toToolName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_.-]/g, "_").slice(0, MAX_NAME);
}

/** What `graphs.{id}.description` says, which is that of the graph's own assistant. */
function graphDescription(assistants: Assistant[], graph_id: string): string | null {
  const own = systemAssistantId(graph_id);
  return assistants.find(({ assistant_id }) => assistant_id === own)?.description ?? null;
}

/** MCP wants an object; a graph that tells no such schema takes any. */
export function toInputSchema(schema: Record<string, unknown> | null): Record<string, unknown> {
  return schema?.type === "object" ? schema : { type: "object" };
}
