import type { LoadedCheckpoint } from "../checkpoint-contract.ts";
import { type CheckpointVersions, INTERRUPT } from "../checkpoints/seen-versions.ts";
import type { Host, RunCall } from "../contract.ts";
import type { Graph } from "./langgraph.ts";

/**
 * Returns the nodes to stop before: those of the run, and any when a lost attempt has stopped after a node. LangGraph
 * looks for such a breakpoint at the end of a step only. One after a node of a subgraph is not found again.
 */
export async function stopsBefore(
  graph: Graph,
  { run_id, resuming, head, interrupt_before, interrupt_after }: RunCall,
  host: Host,
): Promise<string[] | "*" | null> {
  const after = interrupt_after ?? graph.interruptAfter ?? [];
  if (!resuming || !head || after.length === 0) return interrupt_before;
  const { run_id: writer, source } = JSON.parse(head.metadata) as Record<string, unknown>;
  // A subgraph may be ahead of the head, which another run has stopped at and this one has passed.
  if (writer !== run_id || source !== "loop") return interrupt_before;
  const parent = head.parent_id && (await host.readCheckpoint("", head.parent_id));
  const isShown = (name: string) => !graph.nodes[name]?.tags?.includes("langsmith:hidden");
  const isStop = (name: string) => (after === "*" ? isShown(name) : after.includes(name));
  const hasStopped = nodesOfStep(head, parent || null).some(isStop);
  return hasStopped ? Object.keys(graph.nodes) : interrupt_before;
}

/** Returns the nodes that ran in the step of a checkpoint. */
function nodesOfStep(head: LoadedCheckpoint, parent: LoadedCheckpoint | null): string[] {
  const before = parent ? versionsSeen(parent) : {};
  return Object.entries(versionsSeen(head)).flatMap(([name, seen]) => {
    const isOlder = JSON.stringify(seen) === JSON.stringify(before[name]);
    return name === INTERRUPT || isOlder ? [] : [name];
  });
}

function versionsSeen({ checkpoint }: LoadedCheckpoint): Record<string, unknown> {
  return (JSON.parse(checkpoint) as CheckpointVersions).versions_seen;
}
