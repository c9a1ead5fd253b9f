import type { Assistant } from "../threads/api/assistants/assistant-schema.ts";
import { systemAssistantId } from "../threads/contract/assistant-ids.ts";

export type Tool = { name: string; title: string; description?: string; assistant_id: string };

/** Hosts accept 128 characters. The suffix of a duplicate takes 9. */
const MAX_NAME = 119;

/**
 * @param assistants oldest first: the first of several with one name has it, later ones have a suffix, so that a new
 *   assistant renames no tool
 */
export function toTools(assistants: Assistant[]): Tool[] {
  const taken = new Set<string>();
  return assistants.map(({ assistant_id, graph_id, name, description }) => {
    const short = toToolName(name);
    const unique = uniqueName(short, assistant_id, taken);
    taken.add(unique);
    const text = description || graphDescription(assistants, graph_id);
    return { name: unique, title: name, assistant_id, ...(text && { description: text }) };
  });
}

function uniqueName(short: string, assistant_id: string, taken: ReadonlySet<string>): string {
  const suffixed = `${short}-${assistant_id.slice(-8)}`;
  const names = [short, suffixed, `${short.slice(0, MAX_NAME - 28)}-${assistant_id}`];
  return names.find((name) => !taken.has(name)) ?? suffixed;
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
