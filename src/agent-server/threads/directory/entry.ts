import type { ThreadStatus } from "../contract/run-decisions.ts";

/** Columns of the directory. `metadata` and `digest` are JSON texts. */
export type DirectoryEntry = {
  thread_id: string;
  deployment_id: string;
  workspace_id: string;
  status: ThreadStatus;
  metadata: string;
  created_at: string;
  updated_at: string;
  state_updated_at: string | null;
  digest: string | null;
  seq: number;
  /** Number of the directory's object that has the thread. */
  slot: number;
  /** 1 or 0. */
  is_temporary: number;
  /** 1 when it waits for a person, else 0. */
  is_waiting: number;
  /** Time at which the thread's object made the entry, in epoch milliseconds. */
  read_at: number;
};

/** `seq`: of the last change of the thread. */
export type DirectoryKey = Pick<DirectoryEntry, "deployment_id" | "thread_id" | "slot" | "seq">;
