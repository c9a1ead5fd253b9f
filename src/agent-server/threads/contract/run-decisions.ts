// Decisions about runs, without I/O.
import { timeOfId } from "../../../shared/times.ts";

export type RunStatus = "pending" | "running" | "success" | "error" | "timeout" | "interrupted";
export type MultitaskStrategy = "reject" | "enqueue" | "interrupt" | "rollback";
export type CancelAction = "interrupt" | "rollback";
export type ThreadStatus = "idle" | "busy" | "interrupted" | "error";

const UNFINISHED: readonly RunStatus[] = ["pending", "running"];

export function isFinal(status: RunStatus): boolean {
  return !UNFINISHED.includes(status);
}

/** Losses in a row at which the run ends, when the last one is a `restart`. */
const MAX_RESTARTS = 3;
/** Losses in a row at which the run ends, when the last one is `isolate`: another run may be the cause. */
const MAX_SHARED_LOSSES = 5;
/** Maximum attempts of a run, whatever the causes of the losses are. */
const MAX_ATTEMPTS = 30;

/**
 * Cause of the loss of an attempt.
 *
 * - `upgrade`: a new version of the Worker
 * - `main_process`: on one machine, the end of the process that serves all workspaces; isolates run in other processes
 * - `outage`: the agent's code could not be read
 * - `restart`: the end of the thread's process, by an eviction or a crash
 * - `isolate`: the end of the isolate only, which other runs may share
 * - `alone`: the end of an isolate in quarantine, while no other run of the workspace was in quarantine
 */
export type Loss = "upgrade" | "main_process" | "outage" | "restart" | "isolate" | "alone";

/** Losses for which no run is the cause. */
const BLAMELESS: readonly Loss[] = ["upgrade", "main_process", "outage"];

/** Returns `losses` after another one. Only losses that the run may have caused count. */
export function countLoss(losses: number, loss: Loss): number {
  return BLAMELESS.includes(loss) ? losses : losses + 1;
}

/**
 * Decides what follows the loss of an attempt. `losses`: number of losses since the last checkpoint of the graph,
 * including this one, without `BLAMELESS` losses. A run that ends each of its attempts never reaches a further
 * checkpoint, so losses before a checkpoint had another cause.
 */
export function afterLoss(
  { attempt, losses }: { attempt: number; losses: number },
  loss: Loss,
): "retry" | "quarantine" | "end" {
  if (attempt >= MAX_ATTEMPTS) return "end";
  if (BLAMELESS.includes(loss)) return "retry";
  if (loss === "alone") return losses > 1 ? "end" : "quarantine";
  if (loss === "restart") return losses < MAX_RESTARTS ? "retry" : "end";
  return losses < MAX_SHARED_LOSSES ? "quarantine" : "end";
}

/**
 * Whether the next attempt waits. It waits after an outage and after the loss of an isolate. After a restart or an
 * upgrade nothing of the lost attempt runs any more: it waits only when several losses are counted. Ends of the main
 * process are not counted: it waits when the fourth attempt, or a later one, was lost.
 */
export function isDelayed(attempt: number, losses: number, loss: Loss): boolean {
  if (loss === "main_process") return attempt > MAX_RESTARTS;
  return loss === "outage" || loss === "isolate" || loss === "alone" || losses > 1;
}

export type MultitaskDecision =
  | { accept: false }
  | { accept: true; cancel: { run_id: string; action: CancelAction }[] };

/** Decides whether a new run is accepted, and which runs in flight it cancels. */
export function decideMultitask(
  inFlight: string[],
  strategy: MultitaskStrategy,
): MultitaskDecision {
  switch (strategy) {
    case "reject":
      return inFlight.length > 0 ? { accept: false } : { accept: true, cancel: [] };
    case "enqueue":
      return { accept: true, cancel: [] };
    case "interrupt":
    case "rollback":
      return { accept: true, cancel: inFlight.map((run_id) => ({ run_id, action: strategy })) };
  }
}

type RunStatuses = {
  get(run_id: string): ChosenRun | null;
  queue: { inFlight(): string[] };
};

/** `cancel_reason` of runs that `POST /runs/cancel` ends. */
export const BULK_REASON = "bulk: cancelled by POST /runs/cancel";

/** Assumed maximum difference of the clocks of two machines. */
const MAX_CLOCK_SKEW_MS = 1000;

type ChosenRun = {
  status: RunStatus;
  due_at: number;
  accepted_at: number;
  started_at: number | null;
};

type RunChoice = {
  run_ids: string[] | null;
  status: "pending" | "running" | "all";
  /** Epoch milliseconds. Excludes later runs, unless `run_ids` names them. */
  accepted_until?: number;
  last_id?: string;
};

/** Returns the number of runs that match the ids or the status, and the ids of those that are in flight. */
export function chooseRuns(
  runs: RunStatuses,
  { run_ids, status, ...until }: RunChoice,
): { found: number; inFlight: string[] } {
  const inFlight = runs.queue.inFlight();
  const isMatch = (id: string) => {
    const run = runs.get(id);
    if (run === null || isLater(id, run, until)) return false;
    if (status === "running" && startsAfter(run, until)) return false;
    return status === "all" || run.status === status;
  };
  const found = run_ids?.filter((id) => runs.get(id)) ?? inFlight.filter(isMatch);
  return { found: found.length, inFlight: found.filter((id) => inFlight.includes(id)) };
}

/**
 * Whether the run started after the request, or has not started. The cancellation of the running run starts the next
 * one, which was not running at the time of the request.
 */
function startsAfter(
  { started_at }: ChosenRun,
  { accepted_until = Number.POSITIVE_INFINITY }: Pick<RunChoice, "accepted_until">,
): boolean {
  return started_at === null || started_at > accepted_until;
}

function isLater(
  id: string,
  { due_at, accepted_at }: ChosenRun,
  { accepted_until = Number.POSITIVE_INFINITY, last_id }: Omit<RunChoice, "run_ids" | "status">,
): boolean {
  // Checked first: ids of an idempotency key or of a cron begin with an earlier time than their run's acceptance.
  if (accepted_at > accepted_until + MAX_CLOCK_SKEW_MS) return true;
  // Only ids of version 7 are ordered by their time.
  const isOrdered = last_id !== undefined && timeOfId(id) !== null;
  return isOrdered ? id > last_id : due_at > accepted_until;
}

export function threadStatusAfter(
  outcome: { failed: boolean; next: string[] },
  hasWaiting: boolean,
): ThreadStatus {
  if (hasWaiting) return "busy";
  if (outcome.failed) return "error";
  return outcome.next.length > 0 ? "interrupted" : "idle";
}

/** @returns the earliest time, in epoch milliseconds; `null` without any */
export function nextWake(times: (number | null)[]): number | null {
  const due = times.filter((time) => time !== null);
  return due.length > 0 ? Math.min(...due) : null;
}
