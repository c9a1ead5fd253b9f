import type { CheckpointQuery, StoredCheckpoint } from "../../../../isolate/checkpoint-contract.ts";
import { AppError } from "../../../../shared/errors.ts";
import { toSortedJson } from "../../contract/digest.ts";
import { MAX_CHECKPOINT_BYTES, MAX_SCANNED_CHARACTERS } from "../boundary/limits.ts";

/** Yields the rows whose metadata has the given values. @throws AppError when it has read too much metadata */
export function* filterByMetadata<T extends StoredCheckpoint>(
  rows: Iterable<T>,
  metadata: CheckpointQuery["metadata"],
) {
  const wanted =
    metadata &&
    Object.entries(metadata).map(([key, value]): [string, string] => [key, toSortedJson(value)]);
  let scanned = 0;
  for (const row of rows) {
    scanned += metadata ? row.metadata.length : 0;
    if (scanned > MAX_SCANNED_CHARACTERS) throw tooMuchToScan();
    if (!wanted || hasAll(row.metadata, wanted)) yield row;
  }
}

export function checkpointTooLarge({ checkpoint_id }: StoredCheckpoint): AppError {
  const message = `Checkpoint ${checkpoint_id} has more than ${MAX_CHECKPOINT_BYTES} bytes with its values and writes: use a smaller state.`;
  return new AppError("too_large", message);
}

function tooMuchToScan(): AppError {
  const message = `metadata: the filter reads more than ${MAX_SCANNED_CHARACTERS} characters of metadata; leave it out, or set before to an older checkpoint.`;
  return new AppError("too_large", message);
}

function hasAll(text: string, wanted: [key: string, sorted: string][]): boolean {
  const metadata: Record<string, unknown> = JSON.parse(text);
  return wanted.every(([key, sorted]) => toSortedJson(metadata[key]) === sorted);
}
