import { v5 } from "uuid";
import { AppError } from "../shared/errors.ts";

// The namespace that published servers derive the id of a graph's own assistant with.
const ASSISTANT_NAMESPACE = "6ba7b821-9dad-11d1-80b4-00c04fd430c8";

const ids = new Map<string, string>();

export function systemAssistantId(graph_id: string): string {
  const known = ids.get(graph_id);
  if (known !== undefined) return known;
  const id = v5(graph_id, ASSISTANT_NAMESPACE);
  ids.set(graph_id, id);
  return id;
}

/** An assistant by its id or by the name of its graph. */
export function resolveAssistant(
  graphs: string[],
  assistant_id: string,
): { assistant_id: string; graph_id: string } {
  const graph_id = graphs.find(
    (id) => id === assistant_id || systemAssistantId(id) === assistant_id,
  );
  if (graph_id !== undefined) return { assistant_id: systemAssistantId(graph_id), graph_id };
  throw new AppError(
    "not_found",
    `No assistant found for "${assistant_id}". Make sure the assistant ID is for a valid assistant ` +
      `or a valid graph ID. This deployment has: ${graphs.join(", ") || "none"}.`,
  );
}
