import type { WireConfig } from "../../../isolate/contract.ts";
import type { RunKwargs, RunRequest, ThreadRecord } from "../records.ts";
import type { CancelAction } from "../runs.ts";
import type { ThreadStore } from "../storage/store.ts";
import { withoutRun } from "../storage/thread-rows.ts";

/** Beside the thread's values in one row, and the metadata in one of the directory too: each takes 2 MB. */
export const MAX_KEPT_CHARACTERS = 256 * 1024;

/** What many requests have added may be too much to keep, however little each of them brings. */
export function isKeepable(...kept: object[]): boolean {
  return kept.every((value) => JSON.stringify(value).length <= MAX_KEPT_CHARACTERS);
}

/** A run as it will be: assistant < thread < run, then the keys that only the server sets. */
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
      ...sticky(thread.config.configurable),
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

// A checkpoint belongs to the run that named it; a later run starts from the head again.
function sticky(configurable: WireConfig["configurable"]): Record<string, unknown> {
  const {
    checkpoint_id: _id,
    checkpoint_ns: _ns,
    checkpoint_map: _map,
    ...kept
  } = configurable ?? {};
  return kept;
}

/** The thread as it will be once these runs are cancelled. */
export function outlineWithout(
  { runs, thread }: Pick<ThreadStore, "runs" | "thread">,
  cancelled: { run_id: string; action: CancelAction }[],
) {
  const outline = thread.outline();
  const [before] = cancelled.flatMap(({ run_id, action }) =>
    action === "rollback" ? (runs.threadBefore(run_id) ?? []) : [],
  );
  if (!before) return outline;
  return { ...outline, config: before.config, metadata: withoutRun(outline.metadata, before) };
}
