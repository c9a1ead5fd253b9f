import type {
  NewThread,
  RevisionRef,
  ThreadRecord,
  ThreadSnapshot,
} from "../../contract/records.ts";
import type { ThreadStatus } from "../../contract/run-decisions.ts";
import { type ShownTtl, type Ttl, toShown } from "../../contract/ttl.ts";

export type ThreadRow = {
  only: number;
  thread_id: string;
  deployment_id: string;
  workspace_id: string;
  created_at: string;
  updated_at: string;
  state_updated_at: string | null;
  status: ThreadStatus;
  metadata: string;
  config: string;
  values: string | null;
  interrupts: string;
  /** 1 when the newest run was cancelled, and no interrupt of the agent is pending. */
  is_stopped: number;
  error: string | null;
  temporary: number;
  ended_at: number | null;
  revision: string | null;
  directory_seq: number;
  /** `directory_seq` of the entry that the directory has. 0: it may have one. `null`: it has none. */
  directory_sent: number | null;
  /** Object of the directory that has the entry. */
  directory_slot: number;
  /** JSON of a StoredTtl. */
  ttl: string | null;
  /**
   * Traces in the rows of events are delivered up to this id. `null`: no row has traces, in a thread of an earlier
   * version.
   */
  traces_sent: number | null;
};

/** `done_at`: `updated_at` of the thread when it was pruned. */
export type StoredTtl = Ttl & { done_at?: string };

export type ThreadHeader = {
  thread_id: string;
  deployment_id: string;
  workspace_id: string;
  temporary: boolean;
  /**
   * End of a temporary thread in epoch milliseconds. Readers can reconnect during a grace period. Also set for a copy
   * that is not complete.
   */
  ended_at: number | null;
  revision: RevisionRef | null;
};

export function newThreadRow(thread: NewThread, directory_slot: number): ThreadRow {
  const { thread_id, deployment_id, workspace_id, metadata, temporary, ttl } = thread;
  const now = new Date().toISOString();
  return {
    ...{ only: 1, thread_id, deployment_id, workspace_id },
    ...{ created_at: now, updated_at: now, state_updated_at: null, ended_at: null },
    status: "idle",
    metadata: JSON.stringify(metadata),
    temporary: temporary ? 1 : 0,
    ttl: ttl ? JSON.stringify(ttl) : null,
    ...{ config: "{}", values: null, interrupts: "{}", is_stopped: 0, error: null, revision: null },
    // Begins with the time, so that a thread with the id of a deleted one has greater numbers than that one.
    ...{ directory_seq: Date.now(), directory_sent: null, directory_slot, traces_sent: 0 },
  };
}

/** Restores `graph_id` and `assistant_id` of a snapshot. Other keys, which clients may have changed since, stay. */
export function withoutRun(
  { graph_id: _g, assistant_id: _a, ...metadata }: Record<string, unknown>,
  { served_by }: Pick<ThreadSnapshot, "served_by">,
): Record<string, unknown> {
  return { ...metadata, ...served_by };
}

/** `texts`: JSON of what may be stored in parts. */
export function toThreadRecord(
  row: ThreadRow,
  texts: { values: string | null; interrupts: string },
): ThreadRecord {
  const { thread_id, created_at, updated_at, state_updated_at, status } = row;
  return {
    ...{ thread_id, created_at, updated_at, state_updated_at, status },
    metadata: JSON.parse(row.metadata),
    config: JSON.parse(row.config),
    values: JSON.parse(texts.values ?? "null"),
    interrupts: JSON.parse(texts.interrupts),
    error: row.error === null ? null : JSON.parse(row.error),
    ttl: toShownTtl(row),
  };
}

function toShownTtl({ ttl, updated_at }: ThreadRow): ShownTtl | null {
  if (ttl === null) return null;
  const { done_at: _, ...shown } = JSON.parse(ttl) as StoredTtl;
  return toShown(shown, updated_at);
}
