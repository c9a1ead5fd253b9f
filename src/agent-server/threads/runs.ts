/** What may happen to runs, decided without I/O. */

export type RunStatus = "pending" | "running" | "success" | "error" | "timeout" | "interrupted";
export type MultitaskStrategy = "reject" | "enqueue" | "interrupt" | "rollback";
export type CancelAction = "interrupt" | "rollback";
export type ThreadStatus = "idle" | "busy" | "interrupted" | "error";

const UNFINISHED: readonly RunStatus[] = ["pending", "running"];

export function isFinal(status: RunStatus): boolean {
  return !UNFINISHED.includes(status);
}

/** Attempts when the process of the thread restarts: a deployment, an eviction or a crash is not the run's doing. */
export const MAX_ATTEMPTS = 3;
/** Attempts when the isolate of the agent ends and other runs may have ended it. */
const MAX_SHARED_LOSSES = 5;

/** `alone`: the isolate was in quarantine, and no other run was. */
export type Loss = "restart" | "isolate" | "alone";

/** Decides what follows the loss of an attempt. */
export function afterLoss(attempt: number, loss: Loss): "retry" | "quarantine" | "end" {
  if (loss === "alone") return "end";
  if (loss === "restart") return attempt < MAX_ATTEMPTS ? "retry" : "end";
  return attempt < MAX_SHARED_LOSSES ? "quarantine" : "end";
}

export function lossMessage(attempt: number, loss: Loss, reason: string): string {
  if (loss === "alone") {
    return `The agent's isolate ended ${attempt} times without an answer, the last time in a quarantine that no other run shared: ${reason}`;
  }
  return `The agent's isolate ended ${attempt} times without an answer: ${reason}`;
}

export type MultitaskDecision =
  | { accept: false }
  | { accept: true; cancel: { run_id: string; action: CancelAction }[] };

/** What a new run means for those in flight on its thread. */
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
  get(run_id: string): { status: RunStatus } | null;
  inFlight(): string[];
};

/** The runs that are named, or those that stand so: how many there are, and which are not over. */
export function chooseRuns(
  runs: RunStatuses,
  { run_ids, status }: { run_ids: string[] | null; status: "pending" | "running" | "all" },
): { found: number; inFlight: string[] } {
  const inFlight = runs.inFlight();
  const isMeant = (id: string) => status === "all" || runs.get(id)?.status === status;
  const found = run_ids?.filter((id) => runs.get(id)) ?? inFlight.filter(isMeant);
  return { found: found.length, inFlight: found.filter((id) => inFlight.includes(id)) };
}

/** The status of a thread once a run is over, given whether others wait. */
export function threadStatusAfter(
  outcome: { failed: boolean; next: string[] },
  hasWaiting: boolean,
): ThreadStatus {
  if (hasWaiting) return "busy";
  if (outcome.failed) return "error";
  return outcome.next.length > 0 ? "interrupted" : "idle";
}

/** The earliest of what the thread must wake for, in epoch milliseconds; null: nothing. */
export function nextWake(times: (number | null)[]): number | null {
  const due = times.filter((time) => time !== null);
  return due.length > 0 ? Math.min(...due) : null;
}
