import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import type { LoadedCheckpoint } from "../checkpoint-contract.ts";
import { type CheckpointVersions, withRemovedSeen } from "../checkpoints/seen-versions.ts";
import { nodesOfSends } from "../checkpoints/sends.ts";
import { graphAt, pathOf } from "../checkpoints/subgraphs.ts";
import type { RunCall } from "../contract.ts";
import type { Graph } from "./langgraph.ts";
import { isAnswer } from "./resume.ts";

/** Channels that start a node. */
const TRIGGER = /^branch:to:(.+)$/s;

type Versions = Record<string, number | string>;

/** Error of a run that continues at a node which an earlier revision of the graph had. */
class NodeRemovedError extends Error {
  override name = "NodeRemovedError";
}

/**
 * Returns a check of the checkpoint from which a run continues in a namespace. It throws NodeRemovedError when the
 * graph does not have a node that waits there: LangGraph would end such a graph at once, as a success.
 */
export function waitingNodesCheck(
  graph: Graph,
  { command, input, resuming, config }: RunCall,
): (head: LoadedCheckpoint | null) => void {
  const isAtHead = !resuming && !config.configurable?.checkpoint_id;
  const isContinued = isAtHead && (command ? isAnswer(command) : input === null);
  return (head) => {
    const found = isContinued && head ? graphAt(graph, head.ns) : null;
    // A subgraph with `checkpointer: true` has one state for all of its calls. A call may begin at the graph's start.
    if (!head || !found || (found !== graph && found.checkpointer === true)) return;
    assertNodesExist(found, head);
  };
}

function assertNodesExist(graph: Graph, head: LoadedCheckpoint): void {
  const removed = new Set(waitingNodes(head).filter((name) => !(name in graph.nodes)));
  if (removed.size === 0) return;
  const path = pathOf(head.ns);
  const names = [...removed].map((name) => `"${[...path, name].join(".")}"`).join(", ");
  throw new NodeRemovedError(
    `The thread waits at ${names}, which this revision of the graph does not have. ` +
      "Deploy a revision that has it, or send an input or a command with goto.",
  );
}

/** Marks channels of a checkpoint as seen that the graph of the namespace does not have. */
export function withoutRemovedChannels(graph: Graph, checkpoint: Checkpoint, ns: string) {
  const found = graphAt(graph, ns);
  return found ? withRemovedSeen(checkpoint, new Set(Object.keys(found.channels))) : checkpoint;
}

function waitingNodes(head: LoadedCheckpoint): string[] {
  const { checkpoint, values } = head;
  const { channel_versions, versions_seen }: CheckpointVersions = JSON.parse(checkpoint);
  // LangGraph clears a trigger that has started its node: its version is newer then, but has no value.
  const withValue = new Set(values.map(({ channel }) => channel));
  const triggered = Object.entries(channel_versions as Versions).flatMap(([channel, version]) => {
    const name = TRIGGER.exec(channel)?.[1];
    if (name === undefined || !withValue.has(channel)) return [];
    const seen = (versions_seen[name] as Versions | undefined)?.[channel];
    return seen === undefined || version > seen ? [name] : [];
  });
  return [...triggered, ...nodesOfSends(head)];
}
