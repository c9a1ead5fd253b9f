import type { Interrupts, Principal, RevisionRef, RunRecord } from "./records.ts";

/** The public record of a run and the fields that only its thread reads. */
export type StoredRun = RunRecord & {
  revision: RevisionRef;
  created_by: Principal;
  /** Epoch milliseconds, 0 for runs of earlier versions. */
  accepted_at: number;
  /** Time from which the run may start, in epoch milliseconds. */
  due_at: number;
  /** Number of the newest attempt. */
  attempt: number;
  /** Attempts lost since the last checkpoint of the graph. Only losses that the run may have caused are counted. */
  losses: number;
  /** 1 when the run was cancelled and its last checkpoint is awaited, else 0. */
  is_stopping: number;
  /** Version of the Worker that began the newest attempt. */
  version: string | null;
  /** Start of the first attempt in epoch milliseconds. */
  started_at: number | null;
  /** Epoch milliseconds. */
  ended_at: number | null;
  /** Pending interrupts by task. */
  interrupts: Interrupts | null;
  /** Digest of the request, when it had an idempotency key. */
  request_sha256: string | null;
};
