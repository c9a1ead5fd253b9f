import type { Checkpoint } from "@langchain/langgraph-checkpoint";

/** Key in `versions_seen` for the versions at which a static breakpoint has stopped. */
export const INTERRUPT = "__interrupt__";
/** A channel that no graph has. LangGraph marks the channels of the graph as seen when it continues. */
const UNSEEN = "__heddle_unseen__";
/** Older than any version, and newer than no version. */
const UNSEEN_VERSION = 1;

type Versions = Record<string, number | string>;
export type CheckpointVersions = Pick<Checkpoint, "channel_versions" | "versions_seen">;

/** Marks channels that the graph does not have as seen: a static breakpoint would stop at their last change for ever. */
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
 * Adds a change that stays unseen to a checkpoint of a lost attempt. LangGraph would take the next attempt for an
 * answer to the breakpoint there, and run through it.
 */
export function withUnseen<T extends CheckpointVersions>(checkpoint: T): T {
  const seen = (checkpoint.versions_seen[INTERRUPT] ?? {}) as Versions;
  const versions = Object.entries(checkpoint.channel_versions as Versions);
  const isPassed = versions.every(([name, version]) => version <= (seen[name] ?? 0));
  if (isPassed) return checkpoint;
  const channel_versions = { ...checkpoint.channel_versions, [UNSEEN]: UNSEEN_VERSION };
  return { ...checkpoint, channel_versions };
}

/** Undoes `withUnseen` in a checkpoint that follows. */
export function withoutUnseen<T extends CheckpointVersions>(checkpoint: T): T {
  if (!(UNSEEN in checkpoint.channel_versions)) return checkpoint;
  const { [UNSEEN]: _unseen, ...channel_versions } = checkpoint.channel_versions;
  return { ...checkpoint, channel_versions };
}
