import type { RunOutcome } from "../../isolate/contract.ts";

/** How a run ends that its agent did not end itself. */
export function failed(error: string, message: string): RunOutcome {
  const failure = { error, message, stack: null };
  return { ops: [], failure, is_timeout: false, summary: null, traces: null };
}

export function statusOf({ failure, is_timeout }: Pick<RunOutcome, "failure" | "is_timeout">) {
  if (failure === null) return "success";
  return is_timeout ? "timeout" : "error";
}

/** What a run asks that stopped for an answer; null: it went through, or failed. */
export function interruptsOf({ failure, summary }: Pick<RunOutcome, "failure" | "summary">) {
  return failure === null && summary && summary.next.length > 0 ? summary.interrupts : null;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
