import type {
  StoredCheckpoint,
  StoredValue,
  StoredWrite,
} from "../../../../isolate/checkpoint-contract.ts";
import { compressPieces, decompressPieces } from "../log/compressed.ts";
import { pack, unpack } from "./packed.ts";

/** A checkpoint with the values that it adds. */
export type NewCheckpoint = StoredCheckpoint & { values: StoredValue[] };

/** A checkpoint with the values and writes that are in its row. */
export type CheckpointRow = StoredCheckpoint & {
  inline_values: StoredValue[];
  inline_writes: StoredWrite[];
};

/**
 * `body` has the checkpoint, its metadata, values and writes. Rows of earlier versions have these in columns instead.
 */
export type CheckpointColumns = StoredCheckpoint & {
  inline_values: ArrayBuffer | null;
  inline_writes: ArrayBuffer | null;
  body: ArrayBuffer | null;
};

export const CHECKPOINT_COLUMNS =
  "ns, checkpoint_id, parent_id, checkpoint, metadata, inline_values, inline_writes, body";

/** Sets all columns except the key, the parent and the run, which stay. */
export const REPLACE_CHECKPOINT = `checkpoint = excluded.checkpoint, metadata = excluded.metadata,
  inline_values = NULL, inline_writes = NULL, body = excluded.body`;

export function toBody(row: Omit<CheckpointRow, "ns" | "checkpoint_id" | "parent_id">): Uint8Array {
  const texts = [row.checkpoint, row.metadata].map((text) => new TextEncoder().encode(text));
  return compressPieces([...texts, pack(row.inline_values), pack(row.inline_writes)]);
}

export function fromColumns({ body, ...columns }: CheckpointColumns): CheckpointRow {
  if (body === null) {
    const { inline_values, inline_writes } = columns;
    return {
      ...columns,
      inline_values: unpack(inline_values && new Uint8Array(inline_values)),
      inline_writes: unpack(inline_writes && new Uint8Array(inline_writes)),
    };
  }
  const [checkpoint, metadata, values, writes] = decompressPieces(body);
  return {
    ...columns,
    checkpoint: new TextDecoder().decode(checkpoint),
    metadata: new TextDecoder().decode(metadata),
    inline_values: unpack(values),
    inline_writes: unpack(writes),
  };
}
