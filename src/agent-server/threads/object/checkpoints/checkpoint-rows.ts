import type { StoredValue, StoredWrite } from "../../../../isolate/checkpoint-contract.ts";
import { chunks } from "../../../../shared/work/chunks.ts";
import { MAX_ORIGINALS_BYTES, MAX_ROW_BYTES } from "../boundary/limits.ts";
import { insertRows } from "../log/insert.ts";
import { SEGMENTED_BYTES } from "../log/segments.ts";
import { ByteBudget, ENTRY_BYTES } from "./byte-budget.ts";
import type { ChannelValues } from "./channel-values.ts";
import { InlineSources } from "./inline-sources.ts";
import type { NewestHead } from "./newest-head.ts";
import type { NewWrite } from "./replaced-writes.ts";
import { type NewCheckpoint, REPLACE_CHECKPOINT, toBody } from "./row-format.ts";
import { keyOfWrite } from "./stored-keys.ts";

/** Limit of the new values of a row, and of its writes, each. */
const MAX_INLINE_BYTES = 64 * 1024;
/** Limit of the values of older checkpoints that a row repeats. The others move to `channel_values`, each once. */
const MAX_REPEATED_BYTES = 1024;
/** A whole batch in one statement would double its memory. */
const ROWS_PER_INSERT = 12;

const INSERT_CHECKPOINT =
  "INSERT INTO checkpoints (ns, checkpoint_id, parent_id, run_id, checkpoint, metadata, body)";

/** Inserts checkpoints. A row holds its small values, and writes that were committed with it. */
export class CheckpointRows {
  readonly #sql: SqlStorage;
  readonly #values: ChannelValues;
  readonly #head: NewestHead;

  constructor(sql: SqlStorage, values: ChannelValues, head: NewestHead) {
    this.#sql = sql;
    this.#values = values;
    this.#head = head;
  }

  /** @returns the writes that are in no row */
  put(run_id: string | null, checkpoints: NewCheckpoint[], writes: NewWrite[]): NewWrite[] {
    if (checkpoints.length === 0) return writes;
    const unplaced = Map.groupBy(writes, keyOfCheckpoint);
    const budget = new ByteBudget(MAX_ORIGINALS_BYTES);
    for (const chunk of chunks(checkpoints, ROWS_PER_INSERT)) {
      const sources = this.#sourcesOf(chunk, budget);
      const stored = chunk.map((checkpoint) => this.#toRow(run_id, checkpoint, sources, unplaced));
      insertRows(
        this.#sql,
        INSERT_CHECKPOINT,
        stored.map(({ row }) => row),
        `ON CONFLICT DO UPDATE SET ${REPLACE_CHECKPOINT}`,
      );
      const newest = chunk.findLastIndex(({ ns }) => ns === "");
      this.#head.follow(chunk, stored[newest]?.inline ?? []);
    }
    return [...unplaced.values()].flat();
  }

  #sourcesOf(checkpoints: NewCheckpoint[], budget: ByteBudget): InlineSources {
    const sources = new InlineSources(this.#sql, budget);
    const inline = this.#head.inlineBefore(checkpoints);
    if (inline) sources.add("", inline);
    else if (!this.#head.isNone) sources.loadValues(checkpoints);
    return sources;
  }

  #toRow(
    run_id: string | null,
    next: NewCheckpoint,
    sources: InlineSources,
    unplaced: Map<string, NewWrite[]>,
  ) {
    const { ns, checkpoint_id, parent_id, checkpoint, metadata } = next;
    // Three bytes are the upper bound of one UTF-16 unit in UTF-8.
    const free_bytes = MAX_ROW_BYTES - 3 * (checkpoint.length + metadata.length);
    const max = Math.min(MAX_INLINE_BYTES, free_bytes / 2);
    const long = next.values.filter(({ data }) => data.byteLength >= SEGMENTED_BYTES);
    const small = next.values.filter(({ data }) => data.byteLength < SEGMENTED_BYTES);
    const fresh = fitSmallest(small, max);
    const repeated = fitSmallest(
      sources.sharedValuesOf(next),
      Math.min(MAX_REPEATED_BYTES, free_bytes / 2),
    );
    const values = [...fresh.inside, ...repeated.inside];
    this.#values.put(run_id, ns, [...long, ...fresh.outside, ...repeated.outside]);
    sources.add(ns, values);
    const writes = sources.writesOf(next) ?? takeInlineWrites(unplaced, keyOfCheckpoint(next), max);
    sources.setWrites(next, writes);
    const body = toBody({ checkpoint, metadata, inline_values: values, inline_writes: writes });
    // Rows of earlier versions have the checkpoint and its metadata in columns, which are empty here.
    return { row: [ns, checkpoint_id, parent_id, run_id, "", "", body], inline: values };
  }
}

/**
 * Takes the writes that never change, if they fit. The others stay for the table `writes`: those that do not fit, and
 * errors, interrupts and answers, which may be replaced.
 */
function takeInlineWrites(
  unplaced: Map<string, NewWrite[]>,
  key: string,
  max: number,
): StoredWrite[] {
  const immutable = new Map<string, NewWrite>();
  const others: NewWrite[] = [];
  // The first write of a key wins, as with INSERT OR IGNORE.
  for (const write of unplaced.get(key) ?? []) {
    const at = keyOfWrite(write);
    if (write.idx < 0) others.push(write);
    else if (!immutable.has(at)) immutable.set(at, write);
  }
  const { inside, outside } = fitSmallest([...immutable.values()], max);
  unplaced.set(key, [...others, ...outside]);
  return inside.map(({ ns: _n, checkpoint_id: _c, ...write }) => write);
}

/** Divides entries into those that fit into `max` bytes, the smallest first, and the others. */
function fitSmallest<T extends StoredValue | StoredWrite>(entries: T[], max: number) {
  const inside: T[] = [];
  const outside: T[] = [];
  let left = max;
  for (const entry of entries.toSorted((one, other) => sizeOf(one) - sizeOf(other))) {
    left -= sizeOf(entry);
    (left >= 0 ? inside : outside).push(entry);
  }
  return { inside, outside };
}

function sizeOf(entry: StoredValue | StoredWrite): number {
  const { channel, type, data } = entry;
  const names = "path" in entry ? entry.task_id.length + entry.path.length : 0;
  return ENTRY_BYTES + 3 * (names + channel.length + type.length) + data.byteLength;
}

function keyOfCheckpoint({ ns, checkpoint_id }: { ns: string; checkpoint_id: string }): string {
  return JSON.stringify([ns, checkpoint_id]);
}
