import type { RunOutcome } from "../../../../isolate/contract.ts";
import type { Loss } from "../../contract/run-decisions.ts";

/** Returns the outcome of a run that the server ends. */
export function failedOutcome(error: string, message: string): RunOutcome {
  const failure = { error, message, stack: null };
  return { ops: [], failure, is_timeout: false, summary: null, traces: null };
}

/** Returns the outcome of a run that has lost its isolate for the last time. */
export function lostOutcome(attempt: number, loss: Loss, reason: string): RunOutcome {
  const place = loss === "alone" ? ", the last time in a quarantine that no other run shared" : "";
  const message = `The agent's isolate gave no answer in ${attempt} attempts${place}: ${reason}`;
  return failedOutcome("IsolateLostError", message);
}

export function statusOf({ failure, is_timeout }: Pick<RunOutcome, "failure" | "is_timeout">) {
  if (failure === null) return "success";
  return is_timeout ? "timeout" : "error";
}

/** @returns JSON of the pending interrupts, `null` when the run failed or reached its end */
export function interruptsOf({ failure, summary }: Pick<RunOutcome, "failure" | "summary">) {
  return failure === null && summary && summary.next.length > 0 ? summary.interrupts : null;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
