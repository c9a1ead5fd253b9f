import type { Assistant } from "../threads/api/assistants/assistant-schema.ts";
import { systemAssistantId } from "../threads/contract/assistant-ids.ts";

export type Tool = { name: string; title: string; description?: string; assistant_id: string };

/** Maximum characters of a name without a suffix. Hosts accept 128, and the suffix of a duplicate takes 9. */
const MAX_NAME = 119;
/** Characters by which a suffix with a whole UUID is longer than the usual one with 8 characters. */
const UUID_EXTRA = 28;

/**
 * @param assistants the oldest first. Of several with one name the oldest has the name without a suffix, so that a new
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
  const names = [short, suffixed, `${short.slice(0, MAX_NAME - UUID_EXTRA)}-${assistant_id}`];
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
