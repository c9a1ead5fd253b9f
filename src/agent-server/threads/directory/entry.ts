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
  /** 1 when an interrupted thread waits for a person. 0 when only a cancellation has stopped it. */
  is_waiting: number;
  /** Time at which the thread's object made the entry, in epoch milliseconds. */
  read_at: number;
};

/** Identifies an entry. `seq`: number of the thread's last change. */
export type DirectoryKey = Pick<DirectoryEntry, "deployment_id" | "thread_id" | "slot" | "seq">;
