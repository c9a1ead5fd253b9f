import type { WireConfig } from "../../../../isolate/contract.ts";
import type {
  NewThread,
  RunKwargs,
  RunRefusal,
  RunRequest,
  ThreadRecord,
} from "../../contract/records.ts";
import { type CancelAction, decideMultitask } from "../../contract/run-decisions.ts";
import { isKeepable } from "../../contract/sizes.ts";
import type { ThreadStore } from "../storage/store.ts";
import { withoutRun } from "../storage/thread-rows.ts";

type ThreadState = Pick<ThreadStore, "runs" | "thread">;

export type RunPlan = {
  cancel: { run_id: string; action: CancelAction }[];
  merged: ReturnType<typeof mergeRun>;
  /** `cancel_reason` of the runs in `cancel`. */
  reason: string;
};

/**
 * Decides whether a new run is accepted, and which runs it cancels. Merges it with the thread as it is after those are
 * cancelled.
 */
export function planRun(store: ThreadState, request: RunRequest): RunPlan | RunRefusal {
  const verdict = decideMultitask(store.runs.queue.inFlight(), request.multitask_strategy);
  if (!verdict.accept) return "busy";
  if (verdict.cancel.length === 0 && store.runs.queue.isFull) return "queue_full";
  const merged = mergeRun(request, outlineWithout(store, verdict.cancel));
  if (isTooLarge(merged)) return "too_large";
  const reason = `multitask: run ${request.run_id} came with multitask_strategy "${request.multitask_strategy}"`;
  return { cancel: verdict.cancel, merged, reason };
}

/** Returns why a run cannot be the first one of the thread that would be created for it. @returns `null` when it can */
export function refusalOfFirst(
  request: RunRequest,
  { thread_id, metadata }: NewThread,
): RunRefusal | null {
  if (Array.isArray(request.answers)) return "no_pending_interrupt";
  return isTooLarge(mergeRun(request, { thread_id, metadata, config: {} })) ? "too_large" : null;
}

function isTooLarge({ metadata, kwargs }: RunPlan["merged"]): boolean {
  return !isKeepable(metadata, kwargs.config);
}

/** Whether a run may be written after it is accepted on a free thread: it starts at once and has no webhook. */
export function isDeferrable({ after_seconds, kwargs }: RunRequest): boolean {
  return after_seconds === 0 && kwargs.webhook === null;
}

/**
 * Merges assistant, thread and run: of two values of a key, the later one counts. Keys that only the server sets come
 * last. The thread's config adds only its `configurable`.
 */
function mergeRun(
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
      ...inherited(thread.config.configurable),
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

/** Keys of one request. Later runs of the thread do not inherit them: they start from the head, in their own trace. */
const KEYS_OF_ONE_RUN = new Set([
  ...["checkpoint_id", "checkpoint_ns", "checkpoint_map"],
  ...["traceparent", "langsmith-trace", "baggage"],
  ...["langsmith-metadata", "langsmith-tags", "langsmith-project"],
  ...["langsmith_project", "langsmith_example_id"],
]);

function inherited(configurable: WireConfig["configurable"] = {}): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(configurable).filter(([key]) => !KEYS_OF_ONE_RUN.has(key)),
  );
}

/** Returns the outline of the thread after these runs are cancelled. */
function outlineWithout(
  { runs, thread }: ThreadState,
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
