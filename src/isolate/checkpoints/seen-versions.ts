import type { Checkpoint } from "@langchain/langgraph-checkpoint";

/**
 * Key in `versions_seen` for the versions from which a graph has continued. Static breakpoints stop only at later ones.
 */
export const INTERRUPT = "__interrupt__";
/** A channel that no graph has. LangGraph marks only channels of the graph as seen, so it never marks this one. */
const UNSEEN = "__heddle_unseen__";
/** A version above 0, which counts for a channel that was never seen, and below all versions of `nextVersion`. */
const UNSEEN_VERSION = 1;

type Versions = Record<string, number | string>;
export type CheckpointVersions = Pick<Checkpoint, "channel_versions" | "versions_seen">;

/**
 * Marks channels that the graph does not have as seen. A static breakpoint would stop at their last change again and
 * again.
 */
export function withRemovedSeen<T extends CheckpointVersions>(
  checkpoint: T,
  channels: Set<string>,
): T {
  const removed = Object.entries(checkpoint.channel_versions).filter(
    ([name]) => !channels.has(name),
  );
  if (removed.length === 0) return checkpoint;
  const seen = { ...checkpoint.versions_seen[INTERRUPT], ...Object.fromEntries(removed) };
  return { ...checkpoint, versions_seen: { ...checkpoint.versions_seen, [INTERRUPT]: seen } };
}

/**
 * Adds a change that no breakpoint has seen to a checkpoint of a lost attempt. Without this change LangGraph would take
 * the next attempt for the continuation after a static breakpoint, and not stop there. Adds nothing to a checkpoint
 * whose changes are all seen.
 */
export function withUnseenChange<T extends CheckpointVersions>(checkpoint: T): T {
  const seen = (checkpoint.versions_seen[INTERRUPT] ?? {}) as Versions;
  const versions = Object.entries(checkpoint.channel_versions as Versions);
  const isPassed = versions.every(([name, version]) => version <= (seen[name] ?? 0));
  if (isPassed) return checkpoint;
  const channel_versions = { ...checkpoint.channel_versions, [UNSEEN]: UNSEEN_VERSION };
  return { ...checkpoint, channel_versions };
}

/** Undoes `withUnseenChange`, in a checkpoint that LangGraph puts after it. */
export function withoutUnseenChange<T extends CheckpointVersions>(checkpoint: T): T {
  if (!(UNSEEN in checkpoint.channel_versions)) return checkpoint;
  const { [UNSEEN]: _unseen, ...channel_versions } = checkpoint.channel_versions;
  return { ...checkpoint, channel_versions };
}
