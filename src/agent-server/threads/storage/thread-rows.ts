import type { RevisionRef, ThreadBefore, ThreadRecord } from "../records.ts";
import type { ThreadStatus } from "../runs.ts";
import { type ShownTtl, type Ttl, toShown } from "../ttl.ts";

/** The one row of a thread. */
export type Row = {
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
  error: string | null;
  temporary: number;
  ended_at: number | null;
  revision: string | null;
  directory_seq: number;
  /** The last entry that the directory has. 0: it may have one. `null`: it has none. */
  directory_sent: number | null;
  /** JSON of a KeptTtl. */
  ttl: string | null;
};

/** `done_at`: the thread was pruned for its changes up to then. */
export type KeptTtl = Ttl & { done_at?: string };

export type ThreadHeader = {
  thread_id: string;
  deployment_id: string;
  workspace_id: string;
  temporary: boolean;
  /** When a temporary thread's run was over; its log lingers for readers that reconnect. */
  ended_at: number | null;
  revision: RevisionRef | null;
};

/** What the directory in D1 should say of the thread. */
export type DirectoryEntry = Pick<
  ThreadRecord,
  "thread_id" | "created_at" | "updated_at" | "state_updated_at" | "status" | "metadata"
> & {
  deployment_id: string;
  workspace_id: string;
  digest: Record<string, unknown> | null;
  seq: number;
  is_temporary: boolean;
};

/** Metadata as it was before a run took the thread; what clients changed meanwhile stays. */
export function withoutRun(
  { graph_id: _g, assistant_id: _a, ...metadata }: Record<string, unknown>,
  { served_by }: Pick<ThreadBefore, "served_by">,
): Record<string, unknown> {
  return { ...metadata, ...served_by };
}

/** As callers see it; its values, as JSON text, are kept beside the row. */
export function toThreadRecord(row: Row, values: string | null): ThreadRecord {
  const { thread_id, created_at, updated_at, state_updated_at, status } = row;
  return {
    ...{ thread_id, created_at, updated_at, state_updated_at, status },
    metadata: JSON.parse(row.metadata),
    config: JSON.parse(row.config),
    values: JSON.parse(values ?? "null"),
    interrupts: JSON.parse(row.interrupts),
    error: row.error === null ? null : JSON.parse(row.error),
    ttl: toShownTtl(row),
  };
}

function toShownTtl({ ttl, updated_at }: Row): ShownTtl | null {
  if (ttl === null) return null;
  const { done_at: _, ...shown } = JSON.parse(ttl) as KeptTtl;
  return toShown(shown, updated_at);
}
