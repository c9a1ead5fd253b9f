import type { StatusKind } from "../../ui/status.tsx";
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

export function showThread(status: ThreadItem["status"]): Shown {
  return THREADS[status ?? "idle"];
}

export function isActive({ status }: RunItem): boolean {
  return status === "pending" || status === "running";
}
