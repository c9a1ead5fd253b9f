/** A value as the checkpoint serializer wrote it: its type tag and its bytes. */
export type TypedValue = { type: string; data: Uint8Array };

export type StoredWrite = TypedValue & {
  task_id: string;
  /** Path of the task, empty for writes of an input or a command. */
  path: string;
  idx: number;
  channel: string;
};
export type StoredValue = TypedValue & { channel: string; version: number };

/** A checkpoint without its channel values; those are stored once per channel and version. */
export type StoredCheckpoint = {
  ns: string;
  checkpoint_id: string;
  parent_id: string | null;
  /** JSON text. */
  checkpoint: string;
  /** JSON text. */
  metadata: string;
};

export type LoadedCheckpoint = StoredCheckpoint & {
  values: StoredValue[];
  writes: StoredWrite[];
};

export type CheckpointQuery = {
  ns?: string;
  checkpoint_id?: string;
  before_id?: string;
  limit?: number;
  metadata?: Record<string, unknown>;
};

export type Checkpoint = {
  thread_id: string;
  checkpoint_id: string;
  checkpoint_ns: string;
  checkpoint_map: Record<string, unknown> | null;
};
