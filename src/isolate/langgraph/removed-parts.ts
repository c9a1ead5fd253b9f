import type { LoadedCheckpoint } from "../checkpoint-contract.ts";
import type { CheckpointVersions } from "../checkpoints/seen-versions.ts";
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
 * Checks that the nodes which wait in the head are in the graph, for a run that continues there. LangGraph would end
 * it at once, as a success.
 * @throws NodeRemovedError
 */
export function assertNodesExist(graph: Graph, call: RunCall): void {
  const { head, command, input, resuming, config } = call;
  const isContinued = command ? isAnswer(command) : input === null;
  if (!head || resuming || !isContinued || config.configurable?.checkpoint_id) return;
  const removed = waitingNodes(head).filter((name) => !(name in graph.nodes));
  if (removed.length === 0) return;
  const names = removed.map((name) => `"${name}"`).join(", ");
  throw new NodeRemovedError(
    `The thread waits at ${names}, which this revision of the graph does not have. ` +
      "Deploy a revision that has it, or send an input or a command with goto.",
  );
}

function waitingNodes({ checkpoint, values }: LoadedCheckpoint): string[] {
  const { channel_versions, versions_seen }: CheckpointVersions = JSON.parse(checkpoint);
  // LangGraph clears a trigger that started its node, which makes a newer version without a value.
  const withValue = new Set(values.map(({ channel }) => channel));
  return Object.entries(channel_versions as Versions).flatMap(([channel, version]) => {
    const name = TRIGGER.exec(channel)?.[1];
    if (name === undefined || !withValue.has(channel)) return [];
    const seen = (versions_seen[name] as Versions | undefined)?.[channel];
    return seen === undefined || version > seen ? [name] : [];
  });
}
