import type { StoredRun } from "../../contract/stored-run.ts";
import type { ThreadStore } from "../storage/store.ts";

type ThreadState = Pick<ThreadStore, "runs" | "thread">;

/**
 * Repeats the changes that the start of the running run made to the thread: a restart of the object may have lost them.
 * @returns the running run, `null` when there is none
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

/**
 * Sets the thread's graph and config to those of a run, for later runs and reads. A run that was accepted on a free
 * thread is assigned when it is accepted (`RunLoop.#insert`).
 */
export function assignThreadTo({ runs, thread }: ThreadState, run: StoredRun): void {
  const { run_id, graph_id, assistant_id, kwargs } = run;
  const { metadata } = thread.outline();
  const isAssigned = metadata.graph_id === graph_id && metadata.assistant_id === assistant_id;
  if (runs.threadSnapshot(run_id)) {
    if (isAssigned) return;
  } else runs.setThreadSnapshot(run_id, takeSnapshotOfDelayed(runs) ?? thread.snapshot());
  thread.assign({ metadata: { ...metadata, graph_id, assistant_id }, config: kwargs.config });
}

/**
 * Takes the snapshot of a delayed run, for the run that starts before it. The delayed run was accepted while the thread
 * was free, so its snapshot is the state before both.
 * @returns `null` when no run in flight has a snapshot
 */
function takeSnapshotOfDelayed(runs: ThreadStore["runs"]) {
  for (const run_id of runs.queue.inFlight()) {
    const snapshot = runs.threadSnapshot(run_id);
    if (snapshot === null) continue;
    runs.setThreadSnapshot(run_id, null);
    return snapshot;
  }
  return null;
}
