import type { Interrupts, Principal, RevisionRef, RunRecord } from "./records.ts";

/** The public record of a run and the fields that only its thread reads. */
export type StoredRun = RunRecord & {
  revision: RevisionRef;
  created_by: Principal;
  /** Epoch milliseconds, 0 for runs of earlier versions. */
  accepted_at: number;
  due_at: number;
  attempt: number;
  losses: number;
  /** 1 when the run was cancelled and its last checkpoint is awaited. */
  is_stopping: number;
  version: string | null;
  started_at: number | null;
  ended_at: number | null;
  /** Pending interrupts by task. */
  interrupts: Interrupts | null;
  /** Digest of the request, when it had an idempotency key. */
  request_sha256: string | null;
};
