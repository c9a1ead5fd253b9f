/** Decisions about runs, without I/O. */

export type RunStatus = "pending" | "running" | "success" | "error" | "timeout" | "interrupted";
export type MultitaskStrategy = "reject" | "enqueue" | "interrupt" | "rollback";
export type CancelAction = "interrupt" | "rollback";
export type ThreadStatus = "idle" | "busy" | "interrupted" | "error";

const UNFINISHED: readonly RunStatus[] = ["pending", "running"];

export function isFinal(status: RunStatus): boolean {
  return !UNFINISHED.includes(status);
}

/** Maximum attempts after restarts of the thread's process: deployments, evictions and crashes. */
export const MAX_ATTEMPTS = 3;
/** Maximum attempts after losses of an isolate that other runs may have caused. */
const MAX_SHARED_LOSSES = 5;

/** `alone`: in quarantine, without other runs. */
export type Loss = "restart" | "isolate" | "alone";

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
  get(run_id: string): { status: RunStatus } | null;
  queue: { inFlight(): string[] };
};

/** Returns how many runs match the ids or the status, and which of them are in flight. */
export function chooseRuns(
  runs: RunStatuses,
  { run_ids, status }: { run_ids: string[] | null; status: "pending" | "running" | "all" },
): { found: number; inFlight: string[] } {
  const inFlight = runs.queue.inFlight();
  const isMatch = (id: string) => status === "all" || runs.get(id)?.status === status;
  const found = run_ids?.filter((id) => runs.get(id)) ?? inFlight.filter(isMatch);
  return { found: found.length, inFlight: found.filter((id) => inFlight.includes(id)) };
}

export function threadStatusAfter(
  outcome: { failed: boolean; next: string[] },
  hasWaiting: boolean,
): ThreadStatus {
  if (hasWaiting) return "busy";
  if (outcome.failed) return "error";
  return outcome.next.length > 0 ? "interrupted" : "idle";
}

/** @returns the earliest time, in epoch milliseconds */
export function nextWake(times: (number | null)[]): number | null {
  const due = times.filter((time) => time !== null);
  return due.length > 0 ? Math.min(...due) : null;
}
