import type { WireConfig } from "../../../../isolate/contract.ts";
import type {
  NewThread,
  RunKwargs,
  RunRefusal,
  RunRequest,
  ThreadRecord,
} from "../../contract/records.ts";
import { resumedInterrupts } from "../../contract/resumed-interrupts.ts";
import { type CancelAction, decideMultitask } from "../../contract/run-decisions.ts";
import { isKeepable } from "../../contract/sizes.ts";
import type { StoredRun } from "../../contract/stored-run.ts";
import type { ThreadStore } from "../storage/store.ts";
import { withoutRun } from "../storage/thread-rows.ts";

type ThreadState = Pick<ThreadStore, "runs" | "thread">;

export type RunPlan = {
  cancel: { run_id: string; action: CancelAction }[];
  merged: ReturnType<typeof mergeRun>;
  reason: string;
};

/** Decides about a new run, and merges it with the thread as the runs that it cancels leave it. */
export function planRun(store: ThreadState, request: RunRequest): RunPlan | RunRefusal {
  const verdict = decideMultitask(store.runs.queue.inFlight(), request.multitask_strategy);
  if (!verdict.accept) return "busy";
  if (verdict.cancel.length === 0 && store.runs.queue.isFull) return "queue_full";
  const merged = mergeRun(request, outlineWithout(store, verdict.cancel));
  if (isTooLarge(merged)) return "too_large";
  const reason = `multitask: run ${request.run_id} came with multitask_strategy "${request.multitask_strategy}"`;
  return { cancel: verdict.cancel, merged, reason };
}

/** Returns why a run cannot begin the thread that would be made for it. */
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

/** Whether nothing but its caller waits for a run on a free thread. */
export function startsAtOnce({ after_seconds, kwargs }: RunRequest): boolean {
  return after_seconds === 0 && kwargs.webhook === null;
}

/**
 * Repeats what the start of the running run changed in the row of the thread: a restart may precede its write.
 * @returns `null` when no run is running
 */
export function repeatStart({ runs, thread }: ThreadState): StoredRun | null {
  const run = runs.queue.running();
  if (!run) return null;
  const { graph_id, assistant_id, kwargs, revision } = run;
  if (runs.threadSnapshot(run.run_id)) {
    const metadata = { ...thread.outline().metadata, graph_id, assistant_id };
    thread.assign({ metadata, config: kwargs.config });
  }
  thread.startRun(revision);
  return run;
}

/** Takes the snapshot over from a delayed run that came to the free thread: the thread is assigned to that already. */
function snapshotOfWaiting(runs: ThreadStore["runs"]) {
  for (const run_id of runs.queue.inFlight()) {
    const snapshot = runs.threadSnapshot(run_id);
    if (snapshot === null) continue;
    runs.setThreadSnapshot(run_id, null);
    return snapshot;
  }
  return null;
}

/** Makes a run that waited the one whose graph and config later runs and reads use. A run on a free thread is already. */
export function assignThread({ runs, thread }: ThreadState, run: StoredRun): void {
  const { run_id, graph_id, assistant_id, kwargs } = run;
  const { metadata } = thread.outline();
  const isAssigned = metadata.graph_id === graph_id && metadata.assistant_id === assistant_id;
  if (runs.threadSnapshot(run_id)) {
    if (isAssigned) return;
  } else runs.setThreadSnapshot(run_id, snapshotOfWaiting(runs) ?? thread.snapshot());
  thread.assign({ metadata: { ...metadata, graph_id, assistant_id }, config: kwargs.config });
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

/** Keys that apply to the run of their request: later runs start from the head, and are no part of its trace. */
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

/** Returns the run that resumes the named interrupts, or the refusal when they are not pending. */
export function resolveAnswer(request: RunRequest, store: ThreadState): RunRequest | RunRefusal {
  const { answers, multitask_strategy } = request;
  // After a cancellation, the interrupts are known once the thread is settled.
  const cancels = multitask_strategy === "interrupt" || multitask_strategy === "rollback";
  if (!answers) return request;
  if ((cancels || answers === "input") && !store.runs.queue.isEmpty) return request;
  return resolvedBy(openInterrupts(store), answers, request);
}

function resolvedBy(
  waiting: Set<string | null>,
  answers: string[] | "input",
  request: RunRequest,
): RunRequest | RunRefusal {
  if (answers === "input") return waiting.size > 0 ? resumedByInput(request) : request;
  if (waiting.size === 0) return "no_pending_interrupt";
  // Earlier versions of LangGraph give no ids.
  const areOpen = waiting.has(null) || answers.every((id) => waiting.has(id));
  return areOpen ? request : "unknown_interrupt";
}

/** A run from a named checkpoint forks the thread instead of resuming it. */
function resumedByInput(request: RunRequest): RunRequest {
  const { input, config } = request.kwargs;
  if (input === null || config.configurable?.checkpoint_id) return request;
  return { ...request, kwargs: { ...request.kwargs, input: null, command: { resume: input } } };
}

/** Returns the ids of interrupts that wait, without those that runs in flight answer. `null` is one without an id. */
function openInterrupts({ runs, thread }: ThreadState): Set<string | null> {
  const interrupts = Object.values(thread.interrupts()).flat() as { id?: unknown }[];
  const open = new Set(interrupts.map(({ id }) => (typeof id === "string" ? id : null)));
  for (const run_id of runs.queue.inFlight()) {
    // The answer comes before a delayed run.
    if ((runs.queue.row(run_id)?.due_at ?? 0) > Date.now()) continue;
    const answered = resumedInterrupts(runs.get(run_id)?.kwargs.command);
    // Any other run takes the thread past all of them.
    if (answered === null) return new Set();
    for (const id of answered) open.delete(id);
  }
  return open;
}
