import type { LoadedCheckpoint } from "../checkpoint-contract.ts";
import type { Host } from "../contract.ts";
import { isUpdate } from "./pending-writes.ts";

/** Static breakpoints after nodes of subgraphs. */
export type StopsWithin = {
  areIn(ns: string): boolean;
  /** Whether the subgraph stops after the step of a checkpoint. */
  hasStopped(head: LoadedCheckpoint, parent: LoadedCheckpoint): boolean;
};

/**
 * Returns the checkpoint from which the next attempt of a lost run continues in the namespace of a subgraph. `head` is
 * the newest checkpoint there. LangGraph looks for a breakpoint after a node only when it ends a step. If the lost
 * attempt ended a step at such a breakpoint, the next attempt continues from the parent of `head`. LangGraph then ends
 * the step again, from its stored writes, and no node runs twice. In all other cases it continues from `head`.
 */
export async function beforeStop(
  head: LoadedCheckpoint | null,
  { host, run_id, stops }: { host: Host; run_id: string; stops: StopsWithin },
): Promise<LoadedCheckpoint | null> {
  // After a stop no task has begun.
  if (!head?.parent_id || !stops.areIn(head.ns) || head.writes.length > 0) return head;
  const { run_id: writer, source } = JSON.parse(head.metadata) as Record<string, unknown>;
  if (writer !== run_id || source !== "loop") return head;
  const parent = await host.readCheckpoint(head.ns, head.parent_id);
  // Without the results of its tasks, LangGraph would run them again.
  if (!parent?.writes.some(isUpdate)) return head;
  return stops.hasStopped(head, parent) ? parent : head;
}
