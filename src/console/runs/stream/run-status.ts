import type { StatusKind } from "../../ui/icons/status-kind.ts";
import type { RunItem, ThreadItem } from "./agent.ts";

type Shown = { kind: StatusKind; word: string };

const RUNS: Record<RunItem["status"], Shown> = {
  pending: { kind: "queued", word: "Queued" },
  running: { kind: "running", word: "Running" },
  success: { kind: "ok", word: "Ended" },
  error: { kind: "failed", word: "Failed" },
  timeout: { kind: "timed-out", word: "Timed out" },
  interrupted: { kind: "cancelled", word: "Interrupted" },
};

const THREADS: Record<NonNullable<ThreadItem["status"]>, Shown> = {
  idle: { kind: "idle", word: "Idle" },
  busy: { kind: "running", word: "Running" },
  interrupted: { kind: "waiting", word: "Waiting" },
  error: { kind: "failed", word: "Failed" },
};

export function showRun(status: RunItem["status"]): Shown {
  return RUNS[status];
}

/** @param lastRun status of the newest run of the thread */
export function showThread(
  thread: Pick<ThreadItem, "status" | "interrupts">,
  lastRun?: RunItem["status"],
): Shown {
  if (isStopped(thread, lastRun)) return { kind: "cancelled", word: "Stopped" };
  return THREADS[thread.status ?? "idle"];
}

/**
 * Whether the last run was cancelled. The status `interrupted` alone also means that a question waits for an answer.
 */
export function isStopped(
  { status, interrupts }: Pick<ThreadItem, "status" | "interrupts">,
  lastRun?: RunItem["status"],
): boolean {
  const questions = Object.values(interrupts ?? {}).flat();
  return status === "interrupted" && lastRun === "interrupted" && questions.length === 0;
}

export function isActive({ status }: RunItem): boolean {
  return status === "pending" || status === "running";
}
