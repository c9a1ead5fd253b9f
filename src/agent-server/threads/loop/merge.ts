import type { WireConfig } from "../../../isolate/contract.ts";
import type { RunKwargs, RunRequest, ThreadRecord } from "../records.ts";
import type { CancelAction } from "../runs.ts";
import type { ThreadStore } from "../storage/store.ts";
import { withoutRun } from "../storage/thread-rows.ts";

/** Limit of metadata and config, which share rows of at most 2 MB with other columns. */
export const MAX_KEPT_CHARACTERS = 256 * 1024;

/** Checks the merged value: many small requests can add up to too much. */
export function isKeepable(...values: object[]): boolean {
  return values.every((value) => JSON.stringify(value).length <= MAX_KEPT_CHARACTERS);
}

/** Merges assistant, thread and run, in this order, then the keys that only the server sets. */
export function mergeRun(
  run: RunRequest,
  thread: Pick<ThreadRecord, "thread_id" | "metadata" | "config">,
): {
  metadata: Record<string, unknown>;
  kwargs: RunKwargs;
  threadMetadata: Record<string, unknown>;
} {
  const { run_id, assistant_id, graph_id, assistant } = run;
  const metadata = {
    ...assistant.metadata,
    ...thread.metadata,
    ...run.metadata,
    graph_id,
    assistant_id,
  };
  const config: WireConfig = {
    ...assistant.config,
    ...run.kwargs.config,
    configurable: {
      ...assistant.config.configurable,
      ...withoutCheckpoint(thread.config.configurable),
      ...run.kwargs.config.configurable,
      run_id,
      thread_id: thread.thread_id,
      graph_id,
      assistant_id,
    },
    metadata: {
      ...assistant.config.metadata,
      ...run.kwargs.config.metadata,
      ...metadata,
      run_attempt: 1,
    },
  };
  return {
    metadata,
    kwargs: { ...run.kwargs, config },
    threadMetadata: { ...thread.metadata, graph_id, assistant_id },
  };
}

// A checkpoint applies to the run that named it. Later runs start from the head.
function withoutCheckpoint(configurable: WireConfig["configurable"]): Record<string, unknown> {
  const {
    checkpoint_id: _id,
    checkpoint_ns: _ns,
    checkpoint_map: _map,
    ...rest
  } = configurable ?? {};
  return rest;
}

/** Returns the outline of the thread after these runs are cancelled. */
export function outlineWithout(
  { runs, thread }: Pick<ThreadStore, "runs" | "thread">,
  cancelled: { run_id: string; action: CancelAction }[],
) {
  const outline = thread.outline();
  const [snapshot] = cancelled.flatMap(({ run_id, action }) =>
    action === "rollback" ? (runs.threadSnapshot(run_id) ?? []) : [],
  );
  if (!snapshot) return outline;
  return {
    ...outline,
    config: snapshot.config,
    metadata: withoutRun(outline.metadata, snapshot),
  };
}
