import type { LoadedCheckpoint } from "../checkpoint-contract.ts";
import type { StopsWithin } from "../checkpoints/lost-stops.ts";
import { type CheckpointVersions, INTERRUPT } from "../checkpoints/seen-versions.ts";
import { nodesOfSends } from "../checkpoints/sends.ts";
import { pathOf, subgraphsOf } from "../checkpoints/subgraphs.ts";
import type { Host, RunCall } from "../contract.ts";
import type { Graph } from "./langgraph.ts";
import { REAPPLIES_WITHIN } from "./library.ts";

/**
 * Returns the nodes to stop before: those of the run, or all nodes when a lost attempt of the run has stopped after a
 * node. LangGraph looks for a breakpoint after a node only when it ends a step, and the next attempt does not end that
 * step again.
 */
export async function stopsBefore(
  graph: Graph,
  { run_id, resuming, head, interrupt_before, interrupt_after }: RunCall,
  host: Host,
): Promise<string[] | "*" | null> {
  const after = interrupt_after ?? stopsAfter(graph);
  if (!resuming || !head || after.length === 0) return interrupt_before;
  const { run_id: writer, source } = JSON.parse(head.metadata) as Record<string, unknown>;
  // Another run may have stopped at the head, but this run has passed that stop already.
  if (writer !== run_id || source !== "loop") return interrupt_before;
  const parent = head.parent_id && (await host.readCheckpoint("", head.parent_id));
  const hasStopped = isStopAfter(graph, after, head, parent || null);
  return hasStopped ? Object.keys(graph.nodes) : interrupt_before;
}

/**
 * Finds the breakpoints after nodes of subgraphs. Finds none with a version of LangGraph that would run the nodes again
 * when it ends their step again.
 */
export function findStopsWithin(graph: Graph): StopsWithin {
  const subgraphs = REAPPLIES_WITHIN ? [...subgraphsOf(graph)] : [];
  const graphs = subgraphs.filter(([, subgraph]) => stopsAfter(subgraph).length > 0);
  // A node whose code calls graphs may have several subgraphs.
  const graphsAt = (ns: string) => {
    const wanted = pathOf(ns).join("|");
    return graphs.flatMap(([path, subgraph]) => (path === wanted ? [subgraph] : []));
  };
  return {
    areIn: (ns) => graphsAt(ns).length > 0,
    hasStopped: (head, parent) =>
      graphsAt(head.ns).some((subgraph) => {
        return isStopAfter(subgraph, stopsAfter(subgraph), head, parent);
      }),
  };
}

function stopsAfter({ interruptAfter }: Pick<Graph, "interruptAfter">): string[] | "*" {
  return (interruptAfter as string[] | "*" | undefined) ?? [];
}

function isStopAfter(
  graph: Graph,
  after: string[] | "*",
  head: LoadedCheckpoint,
  parent: LoadedCheckpoint | null,
): boolean {
  const isShown = (name: string) => !graph.nodes[name]?.tags?.includes("langsmith:hidden");
  const isStop = (name: string) => (after === "*" ? isShown(name) : after.includes(name));
  return nodesOfStep(head, parent).some(isStop);
}

/** Returns the nodes that ran in the step of a checkpoint. */
function nodesOfStep(head: LoadedCheckpoint, parent: LoadedCheckpoint | null): string[] {
  const before = parent ? versionsSeen(parent) : {};
  const ran = Object.entries(versionsSeen(head)).flatMap(([name, seen]) => {
    const isOlder = JSON.stringify(seen) === JSON.stringify(before[name]);
    return name === INTERRUPT || isOlder ? [] : [name];
  });
  // The versions that a node has seen do not show that a send has started it.
  return parent ? [...ran, ...nodesOfSends(parent)] : ran;
}

function versionsSeen({ checkpoint }: LoadedCheckpoint): Record<string, unknown> {
  return (JSON.parse(checkpoint) as CheckpointVersions).versions_seen;
}
