import type { LoadedCheckpoint } from "../checkpoint-contract.ts";

/** LangGraph's channel of sends. */
const TASKS = "__pregel_tasks";

type Packet = { node?: unknown };

/** Returns the nodes that the sends of a checkpoint start in the step after it. */
export function nodesOfSends({ checkpoint, values }: LoadedCheckpoint): string[] {
  const { pending_sends = [] } = JSON.parse(checkpoint) as { pending_sends?: Packet[] };
  const stored = values.find(({ channel, type }) => channel === TASKS && type === "json");
  // Before LangGraph 1.5.3 the value is a pair: a list that is always empty, and the list of packets.
  const packets: Packet[] = stored ? JSON.parse(new TextDecoder().decode(stored.data)).flat() : [];
  return [...pending_sends, ...packets].flatMap(({ node }) =>
    typeof node === "string" ? [node] : [],
  );
}
